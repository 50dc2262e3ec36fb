<?php
// Verifies passes of the waiting room, with its public keys and PHP's OpenSSL. README.md says what a good pass is.
declare(strict_types=1);

final class BeekeeperPass
{
    private const LEEWAY_SECONDS = 30;
    private const LONGEST_PASS = 4096;
    private const LARGEST_KEYS = 65536;
    private const HEADER = '/^\{"alg":"RS256","kid":"([A-Za-z0-9_-]+)","typ":"JWT"\}$/D';
    private const CLAIM = '"[a-z_]+":("[ !#-\[\]-~]*"|0|[1-9][0-9]{0,14})';
    private const CLAIMS = '/^\{' . self::CLAIM . '(,' . self::CLAIM . ')*\}$/D';

    /**
     * @param string $room the room's URL, without a slash at the end
     * @param string $name the room's short name
     * @param string $keyFile where the room's keys are kept; nobody but the shop may write there
     * @param ?array $given the room's keys, if they are not to be fetched
     */
    public function __construct(
        public readonly string $room,
        public readonly string $name,
        private string $keyFile,
        private ?array $given = null,
    ) {
    }

    /** The claims of a good pass, or why it is none: "expired", "no keys", or in other words, for a log. */
    public function verify(string $pass): array|string
    {
        $parts = explode('.', $pass);
        if (count($parts) !== 3 || strlen($pass) > self::LONGEST_PASS) {
            return 'not a pass';
        }
        [$header, $text, $signature] = array_map(self::decoded(...), $parts);
        if (preg_match(self::HEADER, (string) $header, $named) !== 1 || $text === null || $signature === null) {
            return 'not a pass';
        }
        $keys = $this->keys($named[1]);
        if ($keys === []) {
            return 'no keys';
        }
        $key = $keys[$named[1]] ?? null;
        if ($key === null || openssl_verify("$parts[0].$parts[1]", $signature, self::pem($key), OPENSSL_ALGO_SHA256) !== 1) {
            return 'not signed by this room';
        }
        $claims = preg_match(self::CLAIMS, $text) === 1 ? json_decode($text, true) : [];
        // A name that stood there twice is now written once.
        if (json_encode($claims, JSON_UNESCAPED_SLASHES) !== $text) {
            return 'not spelled as a room spells its passes';
        }
        $says = fn (string $name, mixed $otherwise = null): mixed => $claims[$name] ?? $otherwise;
        $isOurs = [$says('iss'), $says('aud'), $says('token_use')] === [$this->room, $this->name, 'access'];
        $numbers = [$says('iat'), $says('nbf'), $says('exp'), $says('queue_position', 1)];
        $texts = [[$says('sub'), '{1,128}'], [$says('nonce', str_repeat('x', 16)), '{16,64}']];
        $isWrong = fn (array $text): bool => !is_string($text[0]) || preg_match("/^[A-Za-z0-9_-]$text[1]$/D", $text[0]) !== 1;
        if (!$isOurs || array_filter($numbers, is_int(...)) !== $numbers || $numbers[3] === 0 || array_filter($texts, $isWrong)) {
            return "not a pass of this room's URL and name";
        }
        if (time() + self::LEEWAY_SECONDS < max($claims['iat'], $claims['nbf'])) {
            return 'not valid yet';
        }
        return time() >= $claims['exp'] + self::LEEWAY_SECONDS ? 'expired' : $claims;
    }

    /** The room's keys by their ids. They are asked for every five minutes, or for an unknown key id, but at most once a minute. */
    private function keys(string $kid): array
    {
        if ($this->given !== null) {
            return self::byId($this->given);
        }
        $file = fopen($this->keyFile, 'c+');
        // Half a file is no JSON, and says nothing.
        $kept = fn (): array => json_decode((string) stream_get_contents($file, null, 0), true)
            ?? ['keys' => [], 'fetched' => 0, 'asked' => 0];
        $known = $kept();
        // Whoever has a known key does not wait while somebody else asks.
        $wait = isset(self::byId($known)[$kid]) ? LOCK_EX | LOCK_NB : LOCK_EX;
        if ($this->shouldAsk($known, $kid) && flock($file, $wait) && $this->shouldAsk($known = $kept(), $kid)) {
            $context = stream_context_create(['http' => ['timeout' => 5, 'follow_location' => 0]]);
            $url = "$this->room/.well-known/jwks.json";
            $published = json_decode((string) @file_get_contents($url, false, $context, 0, self::LARGEST_KEYS), true);
            if (self::byId($published) !== []) {
                $known = ['keys' => $published['keys'], 'fetched' => time()];
            } else {
                error_log("could not fetch the keys of the waiting room $this->room"); // Keys that are known stay.
            }
            ftruncate($file, 0);
            rewind($file);
            // From now on, or whoever has waited would ask again, and the next one after them.
            fwrite($file, json_encode(['asked' => time()] + $known));
        }
        fclose($file);
        return self::byId($known);
    }

    private function shouldAsk(array $known, string $kid): bool
    {
        // A clock that was set back must not stop this until it has caught up.
        $ago = fn (string $when): int => abs(time() - $known[$when]);
        $isKnown = $ago('fetched') < 300 && isset(self::byId($known)[$kid]);
        return !$isKnown && $ago('asked') >= ($known['keys'] === [] ? 5 : 60);
    }

    /** The keys that sign passes in what the room publishes. Of two with the same id, the first counts. */
    private static function byId(mixed $published): array
    {
        $keys = is_array($published) && is_array($published['keys'] ?? null) ? $published['keys'] : [];
        $signsPasses = function (mixed $key): bool {
            $said = array_map(fn (string $name): mixed => $key[$name] ?? null, ['kty', 'use', 'alg', 'kid', 'n', 'e']);
            return array_slice($said, 0, 3) === ['RSA', 'sig', 'RS256'] && array_filter($said, is_string(...)) === $said;
        };
        return array_column(array_reverse(array_filter($keys, $signsPasses)), null, 'kid');
    }

    /** The key as OpenSSL reads it: the DER of RFC 8017, in PEM. */
    private static function pem(array $key): string
    {
        $sized = function (string $tag, string $value): string {
            $length = strlen($value);
            $size = $length < 128 ? chr($length) : "\x82" . pack('n', $length);
            return $tag . $size . $value;
        };
        $number = fn (string $text): string => $sized("\x02", "\0" . self::decoded($text));
        $rsa = $sized("\x30", $number($key['n']) . $number($key['e']));
        $algorithm = hex2bin('300d06092a864886f70d0101010500');
        $der = $sized("\x30", $algorithm . $sized("\x03", "\0" . $rsa));
        return "-----BEGIN PUBLIC KEY-----\n" . chunk_split(base64_encode($der), 64) . "-----END PUBLIC KEY-----\n";
    }

    /** Null if this is not base64url, or not its one right spelling: written again, it has to be the same. */
    public static function decoded(string $text): ?string
    {
        $bytes = base64_decode(strtr($text, '-_', '+/'), true);
        return $bytes !== false && self::encoded($bytes) === $text ? $bytes : null;
    }

    public static function encoded(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}
