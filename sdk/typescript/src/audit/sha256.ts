/**
 * SHA-256 as lower-case hexadecimal, in one synchronous call: a promise for each link, as Web Crypto has it, costs more than the hash.
 * Node.js, Deno and Bun have such a function; elsewhere it is computed here.
 */

type Hash = (algorithm: 'sha256', data: string | Uint8Array) => string;

const { process } = globalThis as unknown as {
  process?: { getBuiltinModule?(name: string): { readonly hash?: Hash } | undefined };
};
const native = process?.getBuiltinModule?.('node:crypto')?.hash;

/** Of bytes, or of a text in UTF-8. */
export const sha256: (data: string | Uint8Array) => string = native
  ? (data) => native('sha256', data)
  : portableSha256;

// biome-ignore format: eight constants per line, as in FIPS 180-4
const constants = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);
// biome-ignore format: as in FIPS 180-4
const initial = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const;

const encoder = new TextEncoder();
const words = new Int32Array(64);
const state = new Int32Array(8);

/** FIPS 180-4, section 6.2. */
export function portableSha256(data: string | Uint8Array): string {
  const message = typeof data === 'string' ? encoder.encode(data) : data;
  state.set(initial);
  addBlocks(padded(message, message.length));
  return digits();
}

export interface Sha256 {
  update(data: Uint8Array): void;
  /** Afterwards nothing can be added. */
  digest(): string;
}

/** Of bytes that come in parts, which Web Crypto does not have. */
export function createSha256(): Sha256 {
  const own = Int32Array.from(initial);
  let rest = new Uint8Array(0);
  let length = 0;
  const add = (blocks: Uint8Array) => {
    state.set(own);
    addBlocks(blocks);
    own.set(state);
  };
  return {
    update(data) {
      length += data.length;
      const bytes = new Uint8Array(rest.length + data.length);
      bytes.set(rest);
      bytes.set(data, rest.length);
      const whole = bytes.length - (bytes.length % 64);
      add(bytes.subarray(0, whole));
      rest = bytes.slice(whole);
    },
    digest() {
      add(padded(rest, length));
      return digits();
    },
  };
}

/** The last bytes of a message of this length, up to the end of a block. */
function padded(rest: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(((rest.length + 72) >> 6) << 6);
  bytes.set(rest);
  bytes[rest.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(length / 0x20000000));
  view.setUint32(bytes.length - 4, length << 3);
  return bytes;
}

function addBlocks(blocks: Uint8Array): void {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let start = 0; start < blocks.length; start += 64) {
    for (let at = 0; at < 16; at += 1) words[at] = view.getInt32(start + at * 4);
    addBlock();
  }
}

function digits(): string {
  let text = '';
  for (const word of state) text += (word >>> 0).toString(16).padStart(8, '0');
  return text;
}

/** Adds the 16 words of a block to the state. */
function addBlock(): void {
  for (let at = 16; at < 64; at += 1) {
    const w15 = words[at - 15] as number;
    const w2 = words[at - 2] as number;
    const s0 = ((w15 >>> 7) | (w15 << 25)) ^ ((w15 >>> 18) | (w15 << 14)) ^ (w15 >>> 3);
    const s1 = ((w2 >>> 17) | (w2 << 15)) ^ ((w2 >>> 19) | (w2 << 13)) ^ (w2 >>> 10);
    words[at] = (words[at - 16] as number) + s0 + (words[at - 7] as number) + s1;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let at = 0; at < 64; at += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (constants[at] as number) + (words[at] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}
