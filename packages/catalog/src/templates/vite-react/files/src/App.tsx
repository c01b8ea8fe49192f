import { useState } from 'react'

export function App() {
  const [count, setCount] = useState(0)
  return (
    <main>
      <h1>Vite and React are running</h1>
      <p>
        Edit <code>src/App.tsx</code>: the page changes as you save, and the counter keeps its number.
      </p>
      <button type="button" onClick={() => setCount(count + 1)}>
        Clicked {count} {count === 1 ? 'time' : 'times'}
      </button>
    </main>
  )
}
