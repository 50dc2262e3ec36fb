<?php
// Verifies passes of the waiting room, with its public keys and PHP's OpenSSL. See php.md.
declare(strict_types=1);

final class BeekeeperPass
{
    private const LEEWAY_SECONDS = 30;
    private const LONGEST_PASS = 4096;

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

    /** The claims of a valid pass, or why it is not: "expired", "no keys" or "refused". */
    public function verify(string $pass): array|string
    {
        $parts = explode('.', $pass);
        if (count($parts) !== 3 || strlen($pass) > self::LONGEST_PASS) {
            return 'refused';
        }
        $header = json_decode(self::decoded($parts[0]), true);
        $kid = is_string($header['kid'] ?? null) ? $header['kid'] : '';
        $keys = array_column($this->keys($kid), null, 'kid');
        if ($keys === []) {
            return 'no keys';
        }
        // The algorithm is always RS256, whatever the pass says.
        if (($header['alg'] ?? null) !== 'RS256' || !isset($keys[$kid])) {
            return 'refused';
        }
        $signed = "$parts[0].$parts[1]";
        if (openssl_verify($signed, self::decoded($parts[2]), self::pem($keys[$kid]), OPENSSL_ALGO_SHA256) !== 1) {
            return 'refused';
        }
        $claims = json_decode(self::decoded($parts[1]), true);
        $is = fn (string $claim, mixed $value): bool => ($claims[$claim] ?? null) === $value;
        $isPass = $is('iss', $this->room) && $is('aud', $this->name) && $is('token_use', 'access');
        if (!$isPass || !is_int($claims['exp'] ?? null) || !is_int($claims['nbf'] ?? null)) {
            return 'refused';
        }
        if (preg_match('/^[A-Za-z0-9_-]{1,128}$/D', (string) ($claims['sub'] ?? '')) !== 1) {
            return 'refused';
        }
        if (time() >= $claims['exp'] + self::LEEWAY_SECONDS) {
            return 'expired';
        }
        return time() + self::LEEWAY_SECONDS < $claims['nbf'] ? 'refused' : $claims;
    }

    /** The room's keys. They are asked for every five minutes, or for an unknown key id, but at most once a minute. */
    private function keys(string $kid): array
    {
        if ($this->given !== null) {
            return $this->given['keys'];
        }
        $file = fopen($this->keyFile, 'c+');
        flock($file, LOCK_EX);
        $kept = json_decode((string) stream_get_contents($file), true) ?? ['keys' => [], 'fetched' => 0, 'asked' => 0];
        $isKnown = time() - $kept['fetched'] < 300 && in_array($kid, array_column($kept['keys'], 'kid'), true);
        if (!$isKnown && time() - $kept['asked'] >= ($kept['keys'] === [] ? 5 : 60)) {
            $kept['asked'] = time();
            $context = stream_context_create(['http' => ['timeout' => 5, 'follow_location' => 0]]);
            $published = json_decode((string) @file_get_contents("$this->room/.well-known/jwks.json", false, $context), true);
            if (is_array($published['keys'] ?? null) && $published['keys'] !== []) {
                $kept = ['keys' => $published['keys'], 'fetched' => time(), 'asked' => time()];
            } else {
                error_log("could not fetch the keys of the waiting room $this->room"); // Keys that are known stay.
            }
            ftruncate($file, 0);
            rewind($file);
            fwrite($file, json_encode($kept));
        }
        fclose($file);
        return $kept['keys'];
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

    public static function decoded(string $text): string
    {
        return (string) base64_decode(strtr($text, '-_', '+/'), true);
    }

    public static function encoded(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}
