export const dynamic = 'force-dynamic'

export default function Page() {
  return (
    <main>
      <h1>Next.js is running</h1>
      <p>
        This page is <code>app/page.jsx</code>; it changes as you save.
      </p>
      <p>Rendered on the server at {new Date().toLocaleTimeString('en-GB')}.</p>
    </main>
  )
}
