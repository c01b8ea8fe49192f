import { Link } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { buttonClass } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

export function NotFoundPage() {
  useTitle(texts.errors.pageNotFound)
  return (
    <main className="mx-auto max-w-xl pt-[12vh]">
      <h1 className="sr-only">{texts.errors.pageNotFound}</h1>
      <EmptyState icon={Compass} title={texts.errors.pageNotFound} detail={texts.errors.pageNotFoundDetail}>
        <Link to="/" className={buttonClass()}>
          {texts.errors.backToProjects}
        </Link>
      </EmptyState>
    </main>
  )
}
