#!/bin/sh
# Stands in for certbot. Its authority is one of the test's own, in /root/authority, and asks at port 80 as Let's Encrypt does.
set -eu

sign() {
    folder=/etc/letsencrypt/live/$1
    mkdir -p "$folder"
    openssl req -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj "/CN=$1" \
        -addext "subjectAltName=DNS:$1" -keyout "$folder/privkey.pem" -out /run/request.pem 2>/dev/null
    openssl x509 -req -days 90 -copy_extensions copy -in /run/request.pem \
        -CA /root/authority/ca.pem -CAkey /root/authority/ca.key -out "$folder/fullchain.pem" 2>/dev/null
}

command=$1
shift
hook=true
while [ $# -gt 0 ]; do
    case $1 in
        --webroot) shift ;;
        --webroot-path) webroot=$2; shift 2 ;;
        --domain | --cert-name) name=$2; shift 2 ;;
        --deploy-hook) hook=$2; shift 2 ;;
        *) echo "$1 is not known to this certbot" >&2; exit 2 ;;
    esac
done

case $command in
    certonly)
        token=$(openssl rand -hex 16)
        challenges=$webroot/.well-known/acme-challenge
        mkdir -p "$challenges"
        echo "$token.key" >"$challenges/$token"
        answer=$(curl --fail --silent --show-error "http://$name/.well-known/acme-challenge/$token")
        rm -r "$webroot/.well-known"
        [ "$answer" = "$token.key" ]
        sign "$name"
        sh -c "$hook"
        ;;
    sign) sign "$name" ;;
    delete) rm -r "/etc/letsencrypt/live/$name" ;;
esac
