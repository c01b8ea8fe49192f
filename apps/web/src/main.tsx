import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { TipProvider } from './components/tip.tsx'
import { Toasts } from './components/toast.tsx'
import { followOtherTabs } from './other-tabs.ts'
import { router } from './router.tsx'
import './styles.css'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id "root".')

followOtherTabs()
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TipProvider delay={350}>
        <RouterProvider router={router} />
        <Toasts />
      </TipProvider>
    </QueryClientProvider>
  </StrictMode>,
)
