import { generateKeyPair } from '../kernel/keypair.ts';

export function keys(): void {
  const { privatePem, publicPem } = generateKeyPair();
  process.stdout.write(privatePem + publicPem);
  console.error(
    'The first block is JWT_PRIVATE_KEY, the second JWT_PUBLIC_KEY (or store each in a file: JWT_PRIVATE_KEY_FILE, JWT_PUBLIC_KEY_FILE).',
  );
}
