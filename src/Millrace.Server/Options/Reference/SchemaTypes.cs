using System.Text.Json.Nodes;

namespace Millrace.Server.Options.Reference;

/// <summary>The few types that the schema is made of.</summary>
internal static class SchemaTypes
{
    public static JsonObject OfType(string type) => new() { ["type"] = type };

    /// <summary>An object with these properties and no others.</summary>
    public static JsonObject ObjectOf(JsonObject properties) => new()
    {
        ["type"] = "object",
        ["additionalProperties"] = false,
        ["properties"] = properties,
    };

    public static JsonObject Integer((long Least, long Most)? range)
    {
        var integer = new JsonObject { ["type"] = "integer", ["minimum"] = range?.Least ?? 0 };
        if (range?.Most is long most and < long.MaxValue)
        {
            integer["maximum"] = most;
        }

        return integer;
    }

    public static JsonObject Choice(IEnumerable<string> texts) =>
        new() { ["enum"] = new JsonArray([.. texts.Select(static text => JsonValue.Create(text))]) };

    public static JsonObject AnyOf(IReadOnlyList<JsonObject> alternatives) => alternatives switch
    {
        [{ } only] => only,
        _ => new() { ["anyOf"] = new JsonArray([.. alternatives]) },
    };
}
