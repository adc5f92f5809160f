using System.Globalization;
using System.Text;
using System.Text.Json;
using Millrace.Server.Configuration.Settings;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Files;

/// <summary>
/// Reads the value of an option as the texts that a flag would have. Each method leaves the reader at the value's last token, and returns
/// null, with an error, for a value of the wrong type.
/// </summary>
internal sealed class ValueReader(FileText file, ICollection<OptionError> errors)
{
    private readonly string _folder = Path.GetDirectoryName(file.Path) ?? "";

    /// <summary>
    /// The reader's current string, key or number. A whole number becomes digits, as 1e3 and 5.0 are whole numbers to a schema.
    /// </summary>
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
            // Half of a surrogate pair, which no string can hold; U+FFFD is not valid in any option.
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
        SettingOrigin origin = Here(ref reader);
        string? text = reader.TokenType switch
        {
            JsonTokenType.True when option.Kind == OptionValueKind.Switch => "on",
            JsonTokenType.False when option.Kind == OptionValueKind.Switch => "off",
            JsonTokenType.True => option.BareValue,
            JsonTokenType.Number when IsNumber(option.Kind) || option.Kind == OptionValueKind.Address => TextOf(ref reader),
            JsonTokenType.String when TextOf(ref reader) is string one && TakesText(option, one) => Resolve(option, one),
            JsonTokenType.StartObject when template is not null => ReadParts(ref reader, option, template),
            _ => null,
        };
        if (text is not null)
        {
            return new SettingValue(text, origin);
        }

        // ReadParts has reported errors of an object.
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

    /// <summary>The values that a flag separates by commas.</summary>
    private List<SettingValue> ReadList(ref Utf8JsonReader reader, ServerOption option)
    {
        SettingOrigin origin = Here(ref reader);
        var texts = new List<string>();
        while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
        {
            if (reader.TokenType != JsonTokenType.String)
            {
                Refuse(ref reader, option);
            }
            else if (TextOf(ref reader) is string text && text.Contains(',', StringComparison.Ordinal))
            {
                errors.Add(new OptionError(Here(ref reader), $"{option.Path}: '{text}' contains a comma, which separates values."));
            }
            else
            {
                texts.Add(TextOf(ref reader));
            }
        }

        return texts.Count == 0 ? [] : [new SettingValue(string.Join(',', texts), origin)];
    }

    /// <summary>Reads an object as many rules, each a key and a value.</summary>
    private List<SettingValue> ReadPairs(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template)
    {
        var keys = new DuplicateKeyCheck(file, errors);
        var values = new List<SettingValue>();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            SettingOrigin origin = Here(ref reader);
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

    /// <summary>Reads an object as one rule.</summary>
    private string? ReadParts(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template)
    {
        SettingOrigin start = Here(ref reader);
        var keys = new DuplicateKeyCheck(file, errors);
        var values = new Dictionary<string, string>();
        bool isWhole = true;
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            SettingOrigin origin = Here(ref reader);
            string? key = keys.Enter(ref reader);
            reader.Read();
            RulePart? part = template.Parts.FirstOrDefault(part => part.Name == key);
            if (part is null)
            {
                isWhole = false;
                reader.Skip();
                AddUnknownPart(option, template, key, origin);
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
            errors.Add(new OptionError(start, $"{option.Path}: '{missing.Name}' is missing."));
        }

        return isWhole && missing is null ? template.Join(values) : null;
    }

    private void AddUnknownPart(ServerOption option, RuleTemplate template, string? key, SettingOrigin origin)
    {
        if (key is not null)
        {
            string? near = SpellingSuggestion.Nearest(key, template.Parts.Select(static part => part.Name));
            string all = string.Join(", ", template.Parts.Select(static part => part.Name));
            errors.Add(new OptionError(origin, $"{option.Path}: '{key}' is not a known key. "
                + (near is null ? $"Known keys: {all}." : $"Did you mean '{near}'?")));
        }
    }

    /// <summary>A rule of several parts may have a whole number (a status); the value of a pair never is one.</summary>
    private string? ReadPart(ref Utf8JsonReader reader, ServerOption option, RuleTemplate template, RulePart part)
    {
        if (reader.TokenType == JsonTokenType.String || (!template.IsPair && IsWholeNumber(ref reader, out _)))
        {
            return TextOf(ref reader);
        }

        errors.Add(new OptionError(Here(ref reader), $"{option.Path}: '{part.Name}' must be a string, not {NameOf(reader.TokenType)}."));
        reader.Skip();
        return null;
    }

    private bool IsWhole(ServerOption option, RulePart part, string text, SettingOrigin origin)
    {
        bool isWhole = part.End.Length == 0 || !text.Contains(part.End, StringComparison.Ordinal);
        if (!isWhole)
        {
            errors.Add(new OptionError(origin, $"{option.Path}: '{part.Name}' cannot contain '{part.End}'."));
        }

        return isWhole;
    }

    /// <summary>Resolves paths against the file's own folder, wherever the server is started.</summary>
    private string Resolve(ServerOption option, string text)
    {
        int at = option.PathIn(text);
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
        errors.Add(new OptionError(
            Here(ref reader), $"{option.Path} must be {ValueDescriptions.Describe(option)}, not {NameOf(reader.TokenType)}."));
        reader.Skip();
    }

    private static string NameOf(JsonTokenType token) => token switch
    {
        JsonTokenType.StartObject => "an object",
        JsonTokenType.StartArray => "a list",
        JsonTokenType.String => "a string",
        JsonTokenType.Number => "a number",
        JsonTokenType.Null => "null",
        _ => "true or false",
    };

    private SettingOrigin Here(ref Utf8JsonReader reader) => new(SettingSource.File, file.At(reader.TokenStartIndex));
}
