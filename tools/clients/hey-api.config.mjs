export default {
  input: './openapi.json',
  // Node runs the client as it is, so its imports name files.
  output: { path: './client', importFileExtension: '.ts' },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
}
