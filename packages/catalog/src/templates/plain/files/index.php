<?php

declare(strict_types=1);

$name = is_string($_GET['name'] ?? null) ? $_GET['name'] : 'world';
?>
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>PHP</title>
    <link rel="stylesheet" href="/style.css" />
  </head>
  <body>
    <main>
      <h1>PHP is running</h1>
      <p>This page is <code>index.php</code>: save it and reload.</p>
      <p>Hello, <?= htmlspecialchars($name) ?>. It is <?= date('H:i:s') ?>, and this is PHP <?= PHP_VERSION ?>.</p>
    </main>
  </body>
</html>
