<?php
// Lets nobody into the shop without a valid pass of the waiting room. See php.md.
declare(strict_types=1);

require_once __DIR__ . '/beekeeper_pass.php';

final class BeekeeperConnector
{
    private const LONGEST_PATH = 1500;
    private const DAY = 86400;
    private const FAREWELL = 30; // For so many seconds after the shop has ended a visit, images of its last page still come.
    private string $cookies;

    /**
     * @param string $secret at least 32 random characters, the same on all of the shop's machines
     * @param int $sessionSeconds how long a visitor may stay, from the exchange of the pass on
     * @param bool $https whether visitors reach the shop by https; only a test may do without
     */
    public function __construct(
        private BeekeeperPass $passes,
        private string $secret,
        private int $sessionSeconds = 3600,
        private bool $https = true,
    ) {
        strlen($secret) >= 32 || throw new InvalidArgumentException('the secret needs at least 32 characters');
        $this->cookies = ($https ? '__Host-' : '') . "bk_{$passes->name}_";
    }

    /** The visitor, with subject and number. Whoever may not enter gets an answer, and the script ends. */
    public function visitor(): array
    {
        [$pass, $target] = $this->takePass($_SERVER['REQUEST_URI']);
        $session = $this->first('session', $this->unseal(...));
        $method = $_SERVER['REQUEST_METHOD'];
        $reads = $method === 'GET' || $method === 'HEAD';
        if ($session !== null && !($pass !== null && $reads)) {
            header_register_callback(fn () => $this->endIfTold($session));
            return $session;
        }
        header('Cache-Control: no-store');
        $session === null || $this->redirect($target);
        $door = "{$this->passes->room}/beekeeper";
        $wantsPage = str_contains($_SERVER['HTTP_ACCEPT'] ?? '', 'text/html');
        $wantsPage || $this->refuse(403, json_encode(['error' => 'no pass', 'room' => $door]));
        $ended = $this->first('ended', fn (string $id): ?string => preg_match('/^[\w-]{1,128}$/D', $id) === 1 ? $id : null);
        $door .= $ended === null ? '' : "?again=$ended";
        // A form that was sent too late. Its URL is no page to come back to.
        $reads || $this->redirect($door, 303);
        $remembered = $this->first('page', fn (string $page): ?string => self::pathOf((string) BeekeeperPass::decoded($page)));
        if ($pass !== null && $method === 'GET') {
            $claims = $this->passes->verify($pass);
            if (is_array($claims)) {
                $this->setSession($claims['sub'], $claims['queue_position'] ?? null, $this->sessionSeconds);
                $this->setCookie('page', '', 0);
                $this->redirect($remembered ?? $target);
            }
            error_log("the waiting room's pass opens no session: $claims"); // Never the pass itself, which may be good elsewhere.
            // An expired pass leads to the room, which gives out another one. Any other mistake would lead there for ever.
            match ($claims) {
                'expired' => null,
                'no keys' => $this->refuse(503, 'Please try again soon.', 'Retry-After: 30'),
                default => $this->refusePass('This pass is not valid here.', $door),
            };
            $asked = $this->first('asked', fn (string $value): string => $value);
            $asked === null || $this->refusePass("This link has expired, or this shop's clock is wrong.", $door);
            $this->setCookie('asked', '1', 60); // So would a clock that is fast.
        }
        // An expired pass came to the room's page of the shop. The one that was asked for is remembered already.
        $this->setCookie('page', BeekeeperPass::encoded($pass === null ? $target : $remembered ?? $target), self::DAY);
        $this->redirect($door);
    }

    /** Ends the session if the shop's answer says so. The room gives its visitor a new place, if it counts who is in the shop. */
    private function endIfTold(array $visitor): void
    {
        $told = preg_grep('/^beekeeper-session:\s*end\s*$/i', headers_list());
        header_remove('Beekeeper-Session');
        if ($told !== []) {
            $this->setSession($visitor['subject'], $visitor['number'], self::FAREWELL);
            $this->setCookie('ended', $visitor['subject'], self::DAY);
        }
    }

    /** The pass in the query, and the path without it, which never leads to another site. */
    private function takePass(string $url): array
    {
        [$path, $query] = explode('?', $url, 2) + [1 => ''];
        $pairs = explode('&', $query);
        $isPass = fn (string $pair): bool => $pair === 'bk_pass' || str_starts_with($pair, 'bk_pass=');
        $rest = implode('&', array_filter($pairs, fn (string $pair): bool => !$isPass($pair)));
        $passes = preg_filter('/^bk_pass=/', '', $pairs);
        $pass = $passes === [] ? '' : reset($passes);
        return [$pass === '' ? null : $pass, self::pathOf($rest === '' ? $path : "$path?$rest") ?? '/'];
    }

    /** The path, unless a browser could take it for the URL of another site, or a header for more than a URL. */
    private static function pathOf(string $text): ?string
    {
        return strlen($text) <= self::LONGEST_PATH && preg_match('~^/(?!/)[\x21-\x5b\x5d-\x7e]*$~D', $text) === 1 ? $text : null;
    }

    /** What the first good one says of the first four cookies with this name. PHP's own $_COOKIE changes names and values. */
    private function first(string $name, callable $read): mixed
    {
        $cookies = array_map(fn (string $pair): string => trim($pair, " \t"), explode(';', $_SERVER['HTTP_COOKIE'] ?? ''));
        $ours = "$this->cookies$name=";
        $values = array_filter($cookies, fn (string $cookie): bool => str_starts_with($cookie, $ours));
        foreach (array_slice($values, 0, 4) as $value) {
            $said ??= $read(substr($value, strlen($ours)));
        }
        return $said ?? null;
    }

    private function unseal(string $value): ?array
    {
        $form = '/^(([A-Za-z0-9_-]{1,128})\.([0-9]{0,16})\.([0-9]{1,16}))\.([A-Za-z0-9_-]{43})$/D';
        if (preg_match($form, $value, $is) !== 1 || !hash_equals($this->mac($is[1]), $is[5]) || time() >= (int) $is[4]) {
            return null;
        }
        return ['subject' => $is[2], 'number' => $is[3] === '' ? null : (int) $is[3]];
    }

    private function setSession(string $subject, ?int $number, int $seconds): void
    {
        $text = "$subject.$number." . (time() + $seconds);
        $this->setCookie('session', $text . '.' . $this->mac($text), $seconds);
    }

    private function mac(string $text): string
    {
        return BeekeeperPass::encoded(hash_hmac('sha256', "{$this->passes->name}.$text", $this->secret, true));
    }

    private function setCookie(string $name, string $value, int $seconds): void
    {
        $end = "Path=/; Max-Age=$seconds; HttpOnly" . ($this->https ? '; Secure' : '') . '; SameSite=Lax';
        header("Set-Cookie: $this->cookies$name=$value; $end", false);
    }

    private function redirect(string $url, int $status = 302): never
    {
        header("Location: $url", true, $status);
        exit;
    }

    /** Tells a person why their pass opens nothing, and where there is another one. */
    private function refusePass(string $text, string $door): never
    {
        $link = '<a href="' . htmlspecialchars($door) . '">Get another one</a>';
        $page = "<!doctype html><meta name=\"viewport\" content=\"width=device-width\"><p>$text $link</p>";
        $this->refuse(403, $page, 'Content-Type: text/html; charset=utf-8');
    }

    private function refuse(int $status, string $text, string ...$more): never
    {
        http_response_code($status);
        array_map(header(...), ['Content-Type: text/plain; charset=utf-8', ...$more]);
        exit($text);
    }
}
