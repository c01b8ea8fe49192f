import type { ReactNode } from 'react'
import { Mark } from '../components/mark.tsx'

/** The frame of the pages before the login. */
export function AuthLayout({ title, detail, children }: { title: string; detail?: string; children: ReactNode }) {
  return (
    <main className="flex min-h-dvh flex-col items-center px-4 pt-[12vh] pb-10">
      <div className="w-full max-w-sm">
        <Mark className="size-10" />
        <h1 className="mt-5 text-xl">{title}</h1>
        {detail && <p className="mt-1 text-ink-2">{detail}</p>}
        <div className="mt-6">{children}</div>
      </div>
      <Quay />
    </main>
  )
}

/** A quay wall with bollards, once and quietly. */
function Quay() {
  return (
    <svg viewBox="0 0 400 60" aria-hidden="true" className="mt-auto w-full max-w-lg pt-14 text-line">
      <g fill="currentColor">
        <rect x="60" y="6" width="34" height="15" rx="3" opacity=".5" />
        <rect x="60" y="23" width="34" height="15" rx="3" />
        <rect x="97" y="23" width="34" height="15" rx="3" opacity=".7" />
        <rect x="262" y="23" width="34" height="15" rx="3" opacity=".7" />
        <path d="M20 40h360v6H20zM196 30h10a3 3 0 0 1 0 6l2 4h-14l2-4a3 3 0 0 1 0-6zM40 46h7v14h-7zM196.5 46h7v14h-7zM353 46h7v14h-7z" />
      </g>
    </svg>
  )
}
