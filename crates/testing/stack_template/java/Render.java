// Renders mapping templates as API Gateway does, with Apache Velocity, the engine that its language comes from.
//
// Reads one JSON object from each line of standard input, and writes one JSON object for each:
//   {"template": …, "headers": {…}, "query": {…}, "stage": {…}, "parameters": {…}, "path": …,
//    "now": …, "body": …}
//   {"text": …, "status": …, "headers": {…}}    or    {"error": …}
// `parameters` are those of the path, `path` is the path of the request with the stage, `now` is the time of the request in milliseconds, `body` the text that $input reads. `status` and `headers` in the
// output are those that the template overrides.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.velocity.VelocityContext;
import org.apache.velocity.app.VelocityEngine;

public class Render {
    public static void main(String[] arguments) throws Exception {
        var engine = new VelocityEngine();
        engine.setProperty("runtime.log.logsystem.class", "org.apache.velocity.runtime.log.NullLogChute");
        // API Gateway has the same limit.
        engine.setProperty("directive.foreach.maxloops", "1000");
        engine.init();
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            var answer = new LinkedHashMap<String, Object>();
            try {
                render(engine, asMap(new Json(line).read()), answer);
            } catch (Exception | StackOverflowError error) {
                answer.clear();
                answer.put("error", error.toString());
            }
            out.println(Json.write(answer));
        }
    }

    static void render(VelocityEngine engine, Map<String, Object> request, Map<String, Object> answer) {
        var override = new LinkedHashMap<String, Object>();
        override.put("header", new LinkedHashMap<String, Object>());
        var context = new LinkedHashMap<String, Object>();
        context.put("domainName", request.get("domain"));
        context.put("path", request.get("path"));
        if (request.get("id") != null) {
            context.put("requestId", request.get("id"));
        }
        context.put("requestTimeEpoch", request.get("now"));
        context.put("responseOverride", override);
        var params = new LinkedHashMap<String, Object>();
        params.put("path", request.get("parameters"));
        params.put("querystring", request.get("query"));
        params.put("header", request.get("headers"));

        var variables = new VelocityContext();
        variables.put("input", new Input((String) request.get("body"), params));
        variables.put("util", new Util());
        variables.put("context", context);
        variables.put("stageVariables", request.get("stage"));
        var text = new StringWriter();
        if (!engine.evaluate(variables, text, "template", (String) request.get("template"))) {
            throw new IllegalStateException("the template is not valid");
        }
        answer.put("text", text.toString());
        answer.put("status", override.get("status"));
        answer.put("headers", override.get("header"));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> asMap(Object value) {
        return (Map<String, Object>) value;
    }

    /** $input */
    public static class Input {
        private final String body;
        private final Map<String, Object> params;

        Input(String body, Map<String, Object> params) {
            this.body = body;
            this.params = params;
        }

        public String getBody() {
            return body;
        }

        public Map<String, Object> params() {
            return params;
        }

        /** Looks in the path, the query and the headers, in this order. A template that needs a header must not use it. */
        public String params(String name) {
            for (String place : List.of("path", "querystring", "header")) {
                if (asMap(params.get(place)).get(name) instanceof String found) {
                    return found;
                }
            }
            return "";
        }

        /** Supports only the whole body and its members by name, which is all that the templates use. */
        public Object path(String path) {
            Object found = new Json(body).read();
            for (String name : path.substring(1).split("\\.")) {
                if (!name.isEmpty()) {
                    found = found instanceof Map<?, ?> map ? map.get(name) : null;
                }
            }
            return found;
        }

        public String json(String path) {
            return Json.write(path(path));
        }
    }

    /** $util. The templates do not use it: it exists so that a cookie which names it could abuse it. */
    public static class Util {
        public String escapeJavaScript(String text) {
            return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("'", "\\'");
        }

        public Object parseJson(String text) {
            return new Json(text).read();
        }

        public String urlEncode(String text) {
            return URLEncoder.encode(text, StandardCharsets.UTF_8);
        }

        public String urlDecode(String text) {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        }

        public String base64Encode(String text) {
            return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
        }

        public String base64Decode(String text) {
            return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
        }
    }

    /** The part of JSON that is needed. Java has no JSON parser. */
    static class Json {
        private final String text;
        private int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object read() {
            return switch (next()) {
                case '{' -> map();
                case '[' -> list();
                case '"' -> string();
                default -> scalar();
            };
        }

        private Map<String, Object> map() {
            expect('{');
            var map = new LinkedHashMap<String, Object>();
            while (!closes('}', map.isEmpty())) {
                String key = string();
                expect(':');
                map.put(key, read());
            }
            return map;
        }

        private List<Object> list() {
            expect('[');
            var list = new ArrayList<Object>();
            while (!closes(']', list.isEmpty())) {
                list.add(read());
            }
            return list;
        }

        private boolean closes(char bracket, boolean first) {
            if (next() == bracket) {
                at++;
                return true;
            }
            if (!first) {
                expect(',');
            }
            return false;
        }

        private Object scalar() {
            int from = at;
            while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(from, at);
            return switch (word) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> Long.valueOf(word);
            };
        }

        private char next() {
            while (" \n\r\t".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return text.charAt(at);
        }

        private void expect(char wanted) {
            if (next() != wanted) {
                throw new IllegalArgumentException(wanted + " expected at " + at + " in " + text);
            }
            at++;
        }

        private String string() {
            expect('"');
            var found = new StringBuilder();
            for (char c; (c = text.charAt(at++)) != '"'; ) {
                if (c != '\\') {
                    found.append(c);
                    continue;
                }
                char escaped = text.charAt(at++);
                switch (escaped) {
                    case 'n' -> found.append('\n');
                    case 'r' -> found.append('\r');
                    case 't' -> found.append('\t');
                    case 'b' -> found.append('\b');
                    case 'f' -> found.append('\f');
                    case 'u' -> {
                        found.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                        at += 4;
                    }
                    default -> found.append(escaped);
                }
            }
            return found.toString();
        }

        static String write(Object value) {
            if (value instanceof Map<?, ?> map) {
                var members = new ArrayList<String>();
                map.forEach((key, member) -> members.add(write(key) + ":" + write(member)));
                return "{" + String.join(",", members) + "}";
            }
            if (value instanceof List<?> list) {
                return "[" + String.join(",", list.stream().map(Json::write).toList()) + "]";
            }
            return value instanceof String string ? quoted(string) : String.valueOf(value);
        }

        private static String quoted(String text) {
            var quoted = new StringBuilder("\"");
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\') {
                    quoted.append('\\').append(c);
                } else if (c < ' ' || c > '~') {
                    quoted.append(String.format("\\u%04x", (int) c));
                } else {
                    quoted.append(c);
                }
            }
            return quoted.append('"').toString();
        }
    }
}
