/** Hosts that no call of ours may reach, in the spellings that are known to slip through. */

/** The same IPv4 address, written in every way that a parser somewhere takes for it. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const number = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  const hex = (value: number, digits = 2) => value.toString(16).padStart(digits, '0');
  const octal = (value: number) => `0${value.toString(8)}`;
  const wide = (text: string) =>
    text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  const circled = (text: string) =>
    text.replace(/[0-9]/g, (digit) => (digit === '0' ? '⓪' : String.fromCodePoint(0x245f + Number(digit))));
  const low = `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`;
  return [
    address,
    `${address}.`,
    String(number),
    `0x${hex(number, 8)}`,
    `0X${hex(number, 8).toUpperCase()}`,
    `0${number.toString(8)}`,
    [a, b, c, d].map(octal).join('.'),
    [a, b, c, d].map((part) => `0x${hex(part)}`).join('.'),
    `${a}.${b * 65_536 + c * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${hex(a)}.${octal(b)}.${c}.${d}`,
    `0000${octal(a)}.${b}.${c}.${d}`,
    wide(address),
    address.replaceAll('.', '。'),
    wide(address).replaceAll('.', '.'),
    circled(address),
    address.replaceAll('.', '%2e'),
    address.replace(/[0-9]/, (digit) => `%3${digit}`),
    `[::ffff:${address}]`,
    `[::ffff:${low}]`,
    `[0:0:0:0:0:ffff:${address}]`,
    `[::${address}]`,
    `[::${low}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${low}]`,
    `[2002:${low}::1]`,
    `[2001:0:${low}::1]`,
    `[2606:4700::5efe:${low}]`,
  ];
}

const addresses = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '168.63.129.16',
  '0.0.0.0',
  '192.0.0.192',
];

export const forbiddenHosts: readonly string[] = [
  ...addresses.flatMap(spellings),
  // The rest of what is set aside (the IANA registries of special addresses).
  ...['0.1.2.3', '100.100.100.200', '100.127.255.255', '169.254.170.2', '172.31.255.255', '192.0.0.8'],
  ...['192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1'],
  ...['239.255.255.255', '240.0.0.1', '255.255.255.254', '255.255.255.255', '192.168.0.0', '10.255.255.255'],
  ...['127.1', '127.0.1', '0', '0x0', '00', '017700000001', '0x7f.1', '127.0x1', '0xa9fea9fe'],
  ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::0001]', '[fe80::1]', '[febf::1]', '[fec0::1]', '[fc00::1]'],
  ...[
    '[fd00::1]',
    '[fd00:ec2::254]',
    '[fdff:ffff::1]',
    '[fd20:ce::254]',
    '[ff02::1]',
    '[ff0e::1]',
    '[100::1]',
  ],
  ...['[2001:db8::1]', '[3fff::1]', '[2001:2::1]', '[2001:10::1]', '[2001:20::1]', '[5f00::1]', '[4000::1]'],
  ...['[2001::1]', '[2002::1]', '[64:ff9b::1]', '[64:ff9b:1::1]', '[64:ff9b:2::1]', '[1::1]', '[e000::1]'],
  ...['[::ffff:0:0]', '[::127.0.0.1]', '[::ffff:127.1]', '[fe80::1%25lo]', '[::1%25lo]', '[::ffff:7f00:1]'],
  // Names that mean this machine, this network, or the cloud's own services.
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'foo.localhost',
    'localhost.localdomain',
    'ⓛocalhost',
    'localhost',
  ],
  ...['printer.local', 'router.lan', 'gateway.home.arpa', 'wiki.intranet', 'db.internal'],
  ...[
    'metadata',
    'metadata.google.internal',
    'metadata.google.internal.',
    'METADATA.Google.Internal',
    'instance-data',
  ],
  ...['instance-data.ec2.internal', 'metadata.azure.internal', 'metadata.tencentyun.com'],
];
