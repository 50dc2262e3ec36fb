<?php
// Verifies the passes on standard input with firebase/php-jwt. Prints whether each is valid.
declare(strict_types=1);

// The sources of php-jwt, without the autoloader of Composer.
spl_autoload_register(fn (string $class) => require getenv('PHP_JWT') . '/' . basename(strtr($class, '\\', '/')) . '.php');
Firebase\JWT\JWT::$leeway = 30;

['room' => $room, 'name' => $name, 'keys' => $keys, 'passes' => $passes] = json_decode(stream_get_contents(STDIN), true);
$isValid = function (string $pass) use ($room, $name, $keys): bool {
    try {
        $claims = Firebase\JWT\JWT::decode($pass, $keys, ['RS256']);
    } catch (Throwable) { // Also what PHP itself throws, for a key's id that is a list.
        return false;
    }
    $said = [$claims->iss ?? null, $claims->aud ?? null, $claims->token_use ?? null];
    return $said === [$room, $name, 'access'] && isset($claims->sub, $claims->nbf, $claims->exp);
};
echo json_encode(array_map($isValid, $passes));
