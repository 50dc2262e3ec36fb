<?php
// A shop in PHP, for the tests of the connector.
declare(strict_types=1);

require_once getenv('CONNECTORS') . '/beekeeper_connector.php';

$keys = getenv('KEYS') ? json_decode(getenv('KEYS'), true) : null;
$passes = new BeekeeperPass(getenv('ROOM'), getenv('NAME'), getcwd() . '/keys.json', $keys);
$connector = new BeekeeperConnector($passes, getenv('SECRET'));
$visitor = $connector->visitor();
header('Content-Type: application/json');
if ($_SERVER['REQUEST_URI'] === '/thanks') {
    // They have paid.
    header('Beekeeper-Session: End');
    header('Set-Cookie: basket=', false);
}
echo json_encode($visitor);
