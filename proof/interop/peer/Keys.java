// Selects keys as AWS Powertools for Java does, one line of its standard input after another: see expressions_test.go.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import software.amazon.lambda.powertools.utilities.JsonConfig;

public class Keys {
    // What the published package gives to its hash function: the content of a text, and else the JSON.
    private static String hashed(String expression, String event) throws Exception {
        JsonNode selected = JsonConfig.get().getJmesPath().compile(expression).search(JsonConfig.get().getObjectMapper().readTree(event));
        boolean missing = selected.isNull();
        if (selected.isContainerNode()) {
            missing = true;
            for (JsonNode element : selected) {
                missing = missing && element.isNull();
            }
        }
        if (missing) {
            return null;
        }
        return selected.isTextual() ? selected.asText() : selected.toString();
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode ask = mapper.readTree(line);
            ObjectNode answer = mapper.createObjectNode();
            try {
                answer.put("hashed", hashed(ask.get("expression").asText(), ask.get("event").asText()));
            } catch (Exception error) { // whatever it is, the other side judges it
                answer.put("error", error.getClass().getSimpleName());
            }
            out.println(answer);
        }
    }
}
