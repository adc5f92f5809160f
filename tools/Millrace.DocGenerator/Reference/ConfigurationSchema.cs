using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Rows;
using static Millrace.DocGenerator.Reference.SchemaTypes;

namespace Millrace.DocGenerator.Reference;

/// <summary>The JSON Schema (draft 2020-12) of the configuration, generated from the table.</summary>
internal static class ConfigurationSchema
{
    /// <summary>Ends with a line break.</summary>
    public static string Text { get; } = Write(Describe());

    private static JsonObject Describe()
    {
        JsonObject schema = ObjectOf(new JsonObject { ["$schema"] = OfType("string") });
        JsonObject properties = schema["properties"]!.AsObject();
        foreach (ServerOption option in OptionTable.All)
        {
            string[] names = option.Path.Split('.');
            JsonObject group = properties;
            foreach (string name in names[..^1])
            {
                group[name] ??= ObjectOf([]);
                group = group[name]!["properties"]!.AsObject();
            }

            group[names[^1]] = Describe(option);
        }

        return new JsonObject
        {
            ["$schema"] = "https://json-schema.org/draft/2020-12/schema",
            ["title"] = "Millrace configuration",
            ["description"] = "The file for 'millrace --config FILE'. Comments and trailing commas are allowed.",
            ["type"] = "object",
            ["additionalProperties"] = false,
            ["properties"] = schema["properties"]!.DeepClone(),
        };
    }

    private static JsonObject Describe(ServerOption option)
    {
        JsonObject described = option.Key == ListenRows.Host ? HostsOf() : AnyOf([.. Alternatives(option)]);
        string note = option.Change == OptionChange.AtRestart ? " Takes effect after a restart." : "";
        described.Insert(0, "description", option.Help + note);
        if (DefaultOf(option) is { } value)
        {
            described["default"] = value;
        }

        return described;
    }

    /// <summary>By name: a folder, or an object with the host's own options.</summary>
    private static JsonObject HostsOf()
    {
        JsonObject site = ObjectOf(new JsonObject { ["root"] = OfType("string") });
        foreach (ServerOption option in OptionTable.All.Where(static option => option.Scope == OptionScope.Site))
        {
            site["properties"]![option.Path] = new JsonObject { ["$ref"] = $"#/properties/{option.Path}" };
        }

        site["required"] = new JsonArray("root");
        return new JsonObject { ["type"] = "object", ["additionalProperties"] = AnyOf([OfType("string"), site]) };
    }

    private static IEnumerable<JsonObject> Alternatives(ServerOption option)
    {
        bool mayBeBare = option.BareValue is not null && option.Kind != OptionValueKind.Switch;
        if (mayBeBare)
        {
            yield return OfType("boolean");
        }

        JsonObject[] items = [.. Items(option)];
        foreach (JsonObject item in items)
        {
            yield return item;
        }

        if (option.Kind == OptionValueKind.List)
        {
            yield return ListOf([TextWithout(",")]);
        }
        else if (option.Occurrence == OptionOccurrence.Repeatable)
        {
            // In a list, true is valid (the flag's default value), but false is not.
            JsonObject[] bare = mayBeBare ? [new JsonObject { ["const"] = true }] : [];
            yield return ListOf([.. bare, .. items.Select(static item => item.DeepClone().AsObject())]);
        }
    }

    private static IEnumerable<JsonObject> Items(ServerOption option)
    {
        switch (option.Kind)
        {
            case OptionValueKind.Switch:
                yield return OfType("boolean");
                break;
            case OptionValueKind.Choice:
                yield return Choice(option.Choices);
                break;
            case OptionValueKind.Count or OptionValueKind.Seconds or OptionValueKind.Size:
                yield return Integer(option.Range);
                if (option.Choices.Count > 0)
                {
                    yield return Choice(option.Choices);
                }

                if (option.Kind == OptionValueKind.Size)
                {
                    yield return new JsonObject { ["type"] = "string", ["pattern"] = "^[0-9]+[kKmMgGtT]?$" };
                }

                break;
            case OptionValueKind.Address:
                yield return Integer((0, ushort.MaxValue));
                yield return OfType("string");
                break;
            default:
                yield return OfType("string");
                if (option.Parts.Count > 0)
                {
                    yield return RuleOf(option);
                }

                break;
        }
    }

    /// <summary>One rule of several parts, or an object of many name and value pairs.</summary>
    private static JsonObject RuleOf(ServerOption option)
    {
        if (option.IsPair)
        {
            return new JsonObject
            {
                ["type"] = "object",
                ["propertyNames"] = TextWithout(option.Parts[0].End),
                ["additionalProperties"] = OfType("string"),
            };
        }

        JsonObject parts = ObjectOf([]);
        foreach (RulePart part in option.Parts)
        {
            parts["properties"]![part.Name] = Without(part.End, new JsonObject { ["type"] = new JsonArray("string", "integer") });
        }

        parts["required"] = new JsonArray(
            [.. option.Parts.Where(static part => !part.IsOptional).Select(static part => JsonValue.Create(part.Name))]);
        return parts;
    }

    /// <summary>The default as a JSON value; null if it is described in words.</summary>
    private static JsonNode? DefaultOf(ServerOption option) => option.Kind switch
    {
        _ when !option.Accepts(option.Default) => null,
        OptionValueKind.Switch => option.Default == "on",
        OptionValueKind.Count or OptionValueKind.Seconds or OptionValueKind.Size
            when long.TryParse(option.Default, NumberStyles.None, CultureInfo.InvariantCulture, out long number) => number,
        OptionValueKind.List => new JsonArray([.. option.Default.Split(',').Select(static one => JsonValue.Create(one))]),
        _ => option.Default,
    };

    private static string Write(JsonObject schema)
    {
        var buffer = new ArrayBufferWriter<byte>();
        var options = new JsonWriterOptions { Indented = true, NewLine = "\n", Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
        using (var writer = new Utf8JsonWriter(buffer, options))
        {
            schema.WriteTo(writer);
        }

        return Encoding.UTF8.GetString(buffer.WrittenSpan) + "\n";
    }
}

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
