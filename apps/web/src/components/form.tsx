import type { ReactNode } from 'react'

interface FormProps {
  onSubmit: () => unknown
  className?: string
  children: ReactNode
}

/** A form that the page sends itself, without a new page from the service. */
export function Form({ onSubmit, className = 'flex flex-col gap-4', children }: FormProps) {
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault()
        void onSubmit()
      }}
    >
      {children}
    </form>
  )
}
