using System.Globalization;
using System.Text;
using System.Text.Json;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Files;

/// <summary>
/// Reads the value of an option as the texts that a flag would have. Each method leaves the reader at the value's last token; null, with a
/// complaint, is for a value of another type.
/// </summary>
internal sealed class ValueReader(FileText file, ICollection<Complaint> complaints)
{
    private readonly string _folder = Path.GetDirectoryName(file.Path) ?? "";

    /// <summary>The string, key or number that the reader is at: a whole number in digits, as 1e3 and 5.0 are such to a schema.</summary>
    public static string TextOf(ref Utf8JsonReader reader)
    {
        try
        {
            return reader.TokenType != JsonTokenType.Number ? reader.GetString()!
                : IsWholeNumber(ref reader, out decimal number) ? number.ToString("0", CultureInfo.InvariantCulture)
                : Encoding.UTF8.GetString(reader.ValueSpan);
        }
        catch (InvalidOperationException)
        {
            // Half of a surrogate pair, which no text holds: what cannot be replaced is wrong wherever it stands.
            return "\uFFFD";
        }
    }

    public IReadOnlyList<SettingValue>? Read(ref Utf8JsonReader reader, ServerOption option)
    {
        RuleTemplate? template = option.Template is null ? null : RuleTemplate.Parse(option.Template);
        return reader.TokenType switch
        {
            JsonTokenType.False when option.Kind != OptionValueKind.Switch && option.BareValue is not null => [],
            JsonTokenType.StartArray when option.Kind == OptionValueKind.List => ReadList(ref reader, option),
            JsonTokenType.StartArray when option.Occurrence == OptionOccurrence.Repeatable => ReadItems(ref reader, option, template),
            JsonTokenType.StartObject when template is { IsPair: true } => ReadPairs(ref reader, option, template),
            _ => ReadItem(ref reader, option, template) is { } value ? [value] : null,
        };
    }

    private SettingValue? ReadItem(ref Utf8JsonReader reader, ServerOption option, RuleTemplate? template)
    {
        Origin origin = Here(ref reader);
        string? text = reader.TokenType switch
        {
            JsonTokenType.True when option.Kind == OptionValueKind.Switch => "on",
            JsonTokenType.False when option.Kind == OptionValueKind.Switch => "off",
            JsonTokenType.True => option.BareValue,
            JsonTokenType.Number when IsNumber(option.Kind) || option.Kind == OptionValueKind.Address => TextOf(ref reader),
            JsonTokenType.String when TextOf(ref reader) is string one && TakesText(option, one) => Located(option, one),
            JsonTokenType.StartObject when template is not null => ReadParts(ref reader, option, template),
            _ => null,
        };
        if (text is not null)
        {
            return new SettingValue(text, origin);
        }

        // An object with parts has been complained of.
        if (reader.TokenType != JsonTokenType.EndObject)
        {
            Refuse(ref reader, option);
        }

        return null;
    }

    private List<SettingValue> ReadItems(ref Utf8JsonReader reader, ServerOption option, RuleTemplate? template)
    {
        var values = new List<SettingValue>();
        while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
        {
            if (reader.TokenType == JsonTokenType.StartObject && template is { IsPair: true })
            {
                values.AddRange(ReadPairs(ref reader, option, template));
            }
            else if (ReadItem(ref reader, option, template) is { } value)
            {
                values.Add(value);
            }
        }

        return values;
    }

    /// <summary>What a flag has between commas.</summary>
    private List<SettingValue> ReadList(ref Utf8JsonReader reader, ServerOption option)
    {
        Origin origin = Here(ref reader);
        var texts = new List<string>();
        while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
        {
            if (reader.TokenType != JsonTokenType.String)
            {
                Refuse(ref reader, option);
            }
            else if (TextOf(ref reader) is string text && text.Contains(',', StringComparison.Ordinal))
            {
                complaints.Add(new Complaint(Here(ref reader), $"{option.Path}: '{text}' holds a comma, which stands between two."));
            }
            else
            {
                texts.Add(TextOf(ref reader));
            }
        }

        return texts.Count == 0 ? [] : [new SettingValue(string.Join(',', texts), origin)];
    }

    /// <summary>An object as many rules, each a key with what it has.</summary>
    private List<SettingValue> ReadPairs(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template)
    {
        var keys = new KeyGuard(file, complaints);
        var values = new List<SettingValue>();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            Origin origin = Here(ref reader);
            string? key = keys.Enter(ref reader);
            reader.Read();
            string? text = ReadPart(ref reader, option, template, template.Parts[1]);
            if (text is not null && key is not null && IsWhole(option, template.Parts[0], key, origin))
            {
                values.Add(new SettingValue($"{key}{template.Parts[0].After}{text}", origin));
            }
        }

        return values;
    }

    /// <summary>An object as one rule.</summary>
    private string? ReadParts(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template)
    {
        Origin start = Here(ref reader);
        var keys = new KeyGuard(file, complaints);
        var values = new Dictionary<string, string>();
        bool isWhole = true;
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            Origin origin = Here(ref reader);
            string? key = keys.Enter(ref reader);
            reader.Read();
            RulePart? part = template.Parts.FirstOrDefault(part => part.Name == key);
            if (part is null)
            {
                isWhole = false;
                reader.Skip();
                ComplainOfPart(option, template, key, origin);
            }
            else if (ReadPart(ref reader, option, template, part) is string text && IsWhole(option, part, text, origin))
            {
                values.Add(part.Name, text);
            }
            else
            {
                isWhole = false;
            }
        }

        RulePart? missing = template.Parts.FirstOrDefault(part => !part.IsOptional && !keys.Has(part.Name));
        if (missing is not null)
        {
            complaints.Add(new Complaint(start, $"{option.Path}: '{missing.Name}' is missing."));
        }

        return isWhole && missing is null ? template.Join(values) : null;
    }

    private void ComplainOfPart(ServerOption option, RuleTemplate template, string? key, Origin origin)
    {
        if (key is not null)
        {
            string? near = Spelling.Nearest(key, template.Parts.Select(static part => part.Name));
            string all = string.Join(", ", template.Parts.Select(static part => part.Name));
            complaints.Add(new Complaint(origin, $"{option.Path}: '{key}' is no part of it. "
                + (near is null ? $"It has {all}." : $"Did you mean '{near}'?")));
        }
    }

    /// <summary>A rule in parts may have a whole number, a status. What a pair has is never one.</summary>
    private string? ReadPart(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template, RulePart part)
    {
        if (reader.TokenType == JsonTokenType.String || (!template.IsPair && IsWholeNumber(ref reader, out _)))
        {
            return TextOf(ref reader);
        }

        complaints.Add(new Complaint(Here(ref reader), $"{option.Path}: '{part.Name}' takes a text, not {NameOf(reader.TokenType)}."));
        reader.Skip();
        return null;
    }

    private bool IsWhole(ServerOption option, RulePart part, string text, Origin origin)
    {
        bool isWhole = part.End.Length == 0 || !text.Contains(part.End, StringComparison.Ordinal);
        if (!isWhole)
        {
            complaints.Add(new Complaint(origin, $"{option.Path}: '{part.Name}' cannot hold '{part.End}'."));
        }

        return isWhole;
    }

    /// <summary>Paths are those of the file's own folder, wherever the server is started.</summary>
    private string Located(ServerOption option, string text)
    {
        int at = option.PathAt?.Invoke(text) ?? option.Kind switch
        {
            OptionValueKind.File or OptionValueKind.Folder => 0,
            OptionValueKind.Address => ListenAddress.PathAt(text),
            _ => -1,
        };
        return at < 0 || at == text.Length ? text : text[..at] + Path.Combine(_folder, text[at..]);
    }

    private static bool IsWholeNumber(ref Utf8JsonReader reader, out decimal number)
    {
        number = 0;
        return reader.TokenType == JsonTokenType.Number && reader.TryGetDecimal(out number) && decimal.IsInteger(number);
    }

    private static bool IsNumber(OptionValueKind kind) => kind is OptionValueKind.Count or OptionValueKind.Seconds or OptionValueKind.Size;

    private static bool TakesText(ServerOption option, string text) => option.Kind switch
    {
        OptionValueKind.Switch => false,
        OptionValueKind.Count or OptionValueKind.Seconds => option.Choices.Contains(text),
        _ => true,
    };

    private void Refuse(ref Utf8JsonReader reader, ServerOption option)
    {
        complaints.Add(new Complaint(
            Here(ref reader), $"{option.Path} takes {ValueShapes.Describe(option)}, not {NameOf(reader.TokenType)}."));
        reader.Skip();
    }

    private static string NameOf(JsonTokenType token) => token switch
    {
        JsonTokenType.StartObject => "an object",
        JsonTokenType.StartArray => "a list",
        JsonTokenType.String => "a text",
        JsonTokenType.Number => "a number",
        JsonTokenType.Null => "null",
        _ => "true or false",
    };

    private Origin Here(ref Utf8JsonReader reader) => new(SettingSource.File, file.At(reader.TokenStartIndex));
}
