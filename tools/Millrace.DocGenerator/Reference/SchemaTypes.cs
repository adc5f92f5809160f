using System.Text.Json.Nodes;

namespace Millrace.DocGenerator.Reference;

/// <summary>Creates the types of the schema.</summary>
internal static class SchemaTypes
{
    public static JsonObject OfType(string type) => new() { ["type"] = type };

    /// <summary>A string without the character that ends it; any string if <paramref name="end"/> is empty.</summary>
    public static JsonObject TextWithout(string end) => Without(end, OfType("string"));

    /// <summary>Adds the same restriction to a type that may be a string.</summary>
    public static JsonObject Without(string end, JsonObject type)
    {
        if (end.Length > 0)
        {
            type["pattern"] = $"^[^{end}]*$";
        }

        return type;
    }

    public static JsonObject ListOf(IReadOnlyList<JsonObject> items) => new() { ["type"] = "array", ["items"] = AnyOf(items) };

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
