<?php
// A shop in PHP, for the tests of the connector.
declare(strict_types=1);

require_once getenv('CONNECTORS') . '/beekeeper_connector.php';

$keys = getenv('KEYS') ? json_decode(getenv('KEYS'), true) : null;
$passes = new BeekeeperPass(getenv('ROOM'), getenv('NAME'), getcwd() . '/keys.json', $keys);
$connector = new BeekeeperConnector($passes, getenv('SECRET'));
header('Content-Type: application/json');
echo json_encode($connector->visitor());
