using System.Globalization;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Millrace.Packaging.Tests;

/// <summary>
/// Reads what kustomize prints: mappings and lists in block style, and scalars on one line. Anything else of YAML is refused, so that nothing
/// is read as something it is not.
/// </summary>
internal sealed partial class Manifests
{
    private readonly List<(int Indent, string Text)> _lines;
    private int _next;

    private Manifests(IEnumerable<string> lines) =>
        _lines = [.. lines.Where(static line => line.Length > 0).Select(static line => (line.Length - line.TrimStart().Length, line.Trim()))];

    /// <summary>The objects by kind.</summary>
    public static IReadOnlyDictionary<string, JsonObject> Read(string rendered) => rendered.Split("\n---\n")
        .Select(static text => (JsonObject)new Manifests(text.Split('\n')).ReadAll())
        .ToDictionary(static manifest => (string)manifest["kind"]!);

    private JsonNode ReadAll()
    {
        JsonNode all = ReadBlock();
        return _next == _lines.Count ? all : throw Refused();
    }

    private JsonNode ReadBlock() => IsItem(_lines[_next].Text) ? ReadList(_lines[_next].Indent) : ReadMapping(_lines[_next].Indent);

    private JsonObject ReadMapping(int indent)
    {
        var mapping = new JsonObject();
        while (_next < _lines.Count && _lines[_next].Indent == indent && !IsItem(_lines[_next].Text))
        {
            Match entry = Entry().Match(_lines[_next].Text);
            if (!entry.Success)
            {
                throw Refused();
            }

            mapping.Add(entry.Groups["key"].Value, entry.Groups["value"].Length > 0 ? ReadScalar(entry.Groups["value"].Value) : ReadBelow(indent));
        }

        return mapping;
    }

    /// <summary>What a key without a value of its own holds: a list may stand as far left as its key.</summary>
    private JsonNode ReadBelow(int indent)
    {
        _next++;
        if (_next < _lines.Count && (_lines[_next].Indent > indent || (_lines[_next].Indent == indent && IsItem(_lines[_next].Text))))
        {
            return ReadBlock();
        }

        _next--;
        throw Refused();
    }

    private JsonArray ReadList(int indent)
    {
        var list = new JsonArray();
        while (_next < _lines.Count && _lines[_next].Indent == indent && IsItem(_lines[_next].Text))
        {
            string item = _lines[_next].Text[2..];
            _lines[_next] = (indent + 2, item);
            list.Add(Entry().IsMatch(item) ? ReadMapping(indent + 2) : ReadScalar(item));
        }

        return list;
    }

    private JsonNode ReadScalar(string text)
    {
        if ("|>&*{[!'%@`".Contains(text[0], StringComparison.Ordinal))
        {
            throw Refused();
        }

        _next++;
        return text switch
        {
            "true" => true,
            "false" => false,
            ['"', ..] => JsonSerializer.Deserialize<string>(text)!,
            _ when int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number) => number,
            _ => text,
        };
    }

    private static bool IsItem(string text) => text.StartsWith("- ", StringComparison.Ordinal);

    private FormatException Refused() => new($"kustomize is not expected to print '{_lines[Math.Min(_next, _lines.Count - 1)].Text}'.");

    [GeneratedRegex(@"^(?<key>[\w./-]+):(?: (?<value>.+))?$")]
    private static partial Regex Entry();
}
