using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Json;

namespace Millrace.Server.Configuration;

/// <summary>The text of a configuration file as JSON values, each with its offset; and the line and column of an offset.</summary>
internal sealed class FileText(string path, byte[] bytes)
{
    private static readonly JsonReaderOptions Lenient = new() { CommentHandling = JsonCommentHandling.Skip, AllowTrailingCommas = true };

    private static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    /// <summary>The text begins after a byte order mark; offsets are counted from there.</summary>
    private readonly int _start = bytes.AsSpan().StartsWith(ByteOrderMark) ? ByteOrderMark.Length : 0;

    public string Path => path;

    public int BytesCount => bytes.Length;

    /// <summary>The offset of the first byte that is not UTF-8; null if all are.</summary>
    public int? InvalidOffset
    {
        get
        {
            int offset = 0;
            int consumed = 0;
            do
            {
                offset += consumed;
            }
            while (Rune.DecodeFromUtf8(bytes.AsSpan(offset), out _, out consumed) == OperationStatus.Done);
            return offset < bytes.Length ? offset - _start : null;
        }
    }

    /// <summary>
    /// Parses the text. A duplicate key, of which JSON does not define the meaning, is an error, and the first one stays. Throws
    /// <see cref="JsonException"/> if the text is not JSON.
    /// </summary>
    public FileValue Parse(ICollection<OptionError> errors)
    {
        var reader = new Utf8JsonReader(bytes.AsSpan(_start), Lenient);
        reader.Read();
        FileValue value = Parse(ref reader, errors);

        // Throws if anything follows the value.
        reader.Read();
        return value;
    }

    /// <summary>The position of a byte, by its offset in the text.</summary>
    public FilePosition At(long textOffset)
    {
        int offset = (int)Math.Min(_start + textOffset, bytes.Length);
        ReadOnlySpan<byte> before = bytes.AsSpan(_start, offset - _start);
        int line = before.Count((byte)'\n');
        int column = Encoding.UTF8.GetCharCount(before[(before.LastIndexOf((byte)'\n') + 1)..]);
        return new FilePosition(path, line + 1, column + 1);
    }

    /// <summary>The position of a byte in a line, both counted from 0.</summary>
    public FilePosition At(long line, long byteInLine)
    {
        ReadOnlySpan<byte> text = bytes.AsSpan(_start);
        int lineStart = 0;
        for (; line > 0; line--)
        {
            lineStart += text[lineStart..].IndexOf((byte)'\n') + 1;
        }

        return At(lineStart + byteInLine);
    }

    /// <summary>The place after the last value, and what is missing there, if the text ends between values; else null.</summary>
    public (FilePosition At, string Text)? DescribeEnd()
    {
        ReadOnlySpan<byte> text = bytes.AsSpan(_start);
        var reader = new Utf8JsonReader(text, isFinalBlock: false, new JsonReaderState(Lenient));
        var closing = new Stack<char>();
        JsonTokenType last = JsonTokenType.None;
        int end = 0;
        try
        {
            while (reader.Read())
            {
                (last, end) = (reader.TokenType, (int)reader.BytesConsumed);
                if (last is JsonTokenType.StartObject or JsonTokenType.StartArray)
                {
                    closing.Push(last == JsonTokenType.StartObject ? '}' : ']');
                }
                else if (last is JsonTokenType.EndObject or JsonTokenType.EndArray)
                {
                    closing.Pop();
                }
            }
        }
        catch (JsonException)
        {
            return null;
        }

        ReadOnlySpan<byte> rest = text[end..];
        bool hasComma = rest.TrimStart(" \t\r\n"u8) is [(byte)',', ..];
        end += hasComma ? rest.IndexOf((byte)',') + 1 : 0;
        bool isEnd = closing.Count > 0 && last != JsonTokenType.PropertyName && HasNoValue(text[end..]);
        return isEnd
            ? (At(end), $"The file ends within {(closing.Peek() == '}' ? "an object" : "a list")}: add '{string.Concat(closing)}'.")
            : null;
    }

    /// <summary>Whether a text is empty but for comments: a reader finds nothing where a value may stand.</summary>
    private static bool HasNoValue(ReadOnlySpan<byte> text)
    {
        var reader = new Utf8JsonReader([(byte)'[', .. text, (byte)'\n', (byte)']'], Lenient);
        try
        {
            return reader.Read() && reader.Read() && reader.TokenType == JsonTokenType.EndArray && !reader.Read();
        }
        catch (JsonException)
        {
            return false;
        }
    }

    /// <summary>Says what is wrong where the text stops being JSON.</summary>
    public string DescribeBroken(FilePosition position)
    {
        string[] lines = Encoding.UTF8.GetString(bytes.AsSpan(_start)).Split('\n');
        string line = lines.ElementAtOrDefault(position.Line - 1) ?? "";
        string rest = line[Math.Min(position.Column - 1, line.Length)..].TrimEnd('\r');
        string word = string.Concat(rest.TakeWhile(static letter => char.IsLetterOrDigit(letter) || letter is '_' or '-'));
        return rest switch
        {
            "" when lines.All(string.IsNullOrWhiteSpace) => "The file is empty: write { ... }, or see 'millrace init'.",
            "" => "The file ends within a value: a quote, '}' or ']' is missing at or before this place.",
            ['\'', ..] => "JSON has no single quotes: write keys and texts in double quotes.",
            _ when char.IsLetter(rest[0]) =>
                $"Unexpected '{word}': write keys and texts in double quotes, with commas between them.",
            _ => $"Unexpected '{rest[0]}': check for a missing or extra comma, quote or bracket at or before this place.",
        };
    }

    private FileValue Parse(ref Utf8JsonReader reader, ICollection<OptionError> errors)
    {
        var value = new FileValue(reader.TokenType, reader.TokenStartIndex, TextOf(ref reader));
        if (reader.TokenType == JsonTokenType.StartArray)
        {
            while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
            {
                value.Items.Add(Parse(ref reader, errors));
            }
        }
        else if (reader.TokenType == JsonTokenType.StartObject)
        {
            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                string key = TextOf(ref reader);
                long offset = reader.TokenStartIndex;
                reader.Read();
                if (!value.Members.TryAdd(key, new FileMember(offset, Parse(ref reader, errors))))
                {
                    int line = At(value.Members[key].Offset).Line;
                    errors.Add(new OptionError(new SettingOrigin(SettingSource.File, At(offset)), string.Create(
                        CultureInfo.InvariantCulture, $"'{key}' is set twice, first in line {line}: remove one.")));
                }
            }
        }

        return value;
    }

    /// <summary>The text of a string, key or number. A whole number becomes digits, as 1e3 and 5.0 are whole numbers to a schema.</summary>
    private static string TextOf(ref Utf8JsonReader reader)
    {
        try
        {
            return reader.TokenType switch
            {
                JsonTokenType.String or JsonTokenType.PropertyName => reader.GetString()!,
                JsonTokenType.Number when reader.TryGetDecimal(out decimal number) && decimal.IsInteger(number) =>
                    number.ToString("0", CultureInfo.InvariantCulture),
                JsonTokenType.Number => Encoding.UTF8.GetString(reader.ValueSpan),
                _ => "",
            };
        }
        catch (InvalidOperationException)
        {
            // Half of a surrogate pair, which no string can hold; U+FFFD is not valid in any option.
            return "\uFFFD";
        }
    }
}

/// <summary>A JSON value.</summary>
/// <param name="Type">Its first token.</param>
/// <param name="Offset">Where it begins in the text.</param>
/// <param name="Text">Of a string or a number.</param>
internal sealed record FileValue(JsonTokenType Type, long Offset, string Text)
{
    public IList<FileValue> Items { get; } = [];

    public OrderedDictionary<string, FileMember> Members { get; } = [];

    public bool IsWholeNumber => Type == JsonTokenType.Number && Text.TrimStart('-').All(char.IsAsciiDigit);

    public string TypeName => Type switch
    {
        JsonTokenType.StartObject => "an object",
        JsonTokenType.StartArray => "a list",
        JsonTokenType.String => "a string",
        JsonTokenType.Number => "a number",
        JsonTokenType.Null => "null",
        _ => "true or false",
    };
}

/// <summary>A value of an object, and where its key begins.</summary>
internal sealed record FileMember(long Offset, FileValue Value);
