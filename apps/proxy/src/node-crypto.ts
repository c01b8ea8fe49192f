/** Node's cryptography without what an `import` of it brings along: see `node-http.ts`. Here it would be Web Crypto. */
export const { createHash, createHmac, randomBytes, timingSafeEqual } = process.getBuiltinModule('node:crypto')
