import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run dev -w console` proxies the API to a running `npm start`. */
const server = process.env.COUNTERSIGN_URL ?? 'http://localhost:3000';

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // The CSP allows no data: URL except for images, and a file is cached longer than the page that has it inside.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: 'manifest.json',
    chunkSizeWarningLimit: 2_000,
  },
  server: { proxy: { '/console/api': { target: server, changeOrigin: false } } },
});
