import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const service = process.env.STACKQUAY_URL ?? 'http://127.0.0.1:8700'

export default defineConfig({
  plugins: [react(), tailwindcss(), precompressed()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Browsers that know light-dark(): the two themes are one set of tokens.
    target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // The content security policy allows no data: fonts.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    host: '127.0.0.1',
    port: 8710,
    proxy: { '/api': { target: service, ws: true, changeOrigin: true } },
  },
})

/** Writes `.br` and `.gz` beside every text file, so that the service compresses nothing while it answers. */
function precompressed(): Plugin {
  const brotli = promisify(brotliCompress)
  const zip = promisify(gzip)
  return {
    name: 'stackquay:precompressed',
    apply: 'build',
    async writeBundle({ dir }) {
      if (dir === undefined) return
      const files = await readdir(dir, { recursive: true, withFileTypes: true })
      for (const file of files) {
        if (!file.isFile() || !/\.(js|css|html|svg)$/.test(file.name)) continue
        const path = join(file.parentPath, file.name)
        const content = await readFile(path)
        if (content.length < 1024) continue
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
        await writeFile(`${path}.br`, await brotli(content, { params }))
        await writeFile(`${path}.gz`, await zip(content, { level: 9 }))
      }
    },
  }
}
