using System.Globalization;
using System.Text;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration;

/// <summary>
/// Parses the texts of options. Each method throws <see cref="SiteException"/> with cause and remedy for an invalid text.
/// </summary>
internal static class OptionText
{
    public static bool Switch(string text) => text switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => throw Refuse(text, "neither on nor off", "Write on or off."),
    };

    public static int Count(string text) =>
        IsDigits(text) && int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count)
            ? count
            : throw Refuse(text, "not a number", $"Write 0 to {int.MaxValue}.");

    /// <summary>A size in bytes, or with k, m, g, t for powers of 1,024, in either case.</summary>
    public static long Size(string text)
    {
        int power = text.Length == 0 ? -1 : "kmgt".IndexOf(char.ToLowerInvariant(text[^1]), StringComparison.Ordinal);
        ReadOnlySpan<char> digits = power < 0 ? text : text.AsSpan()[..^1];
        int shift = 10 * (power + 1);
        if (digits.Length == 0 || !IsDigits(digits))
        {
            throw Refuse(text, "not a size", "Use a number of bytes such as 4096, or 64k, 256m, 1g.");
        }

        return long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out long size) && size <= long.MaxValue >> shift
            ? size << shift
            : throw Refuse(text, "too large", "Use a number of bytes such as 4096, or 64k, 256m, 1g.");
    }

    /// <summary>A size that a buffer or an array can have.</summary>
    public static int IntSize(string text)
    {
        long size = Size(text);
        return size <= int.MaxValue ? (int)size : throw Refuse(text, "too large", "Write less than 2g.");
    }

    /// <summary>A size of at most some MiB.</summary>
    public static int SizeUpTo(int mostMiB, string text)
    {
        long size = Size(text);
        return size <= mostMiB * (1L << 20)
            ? (int)size
            : throw Refuse(text, "too large", string.Create(CultureInfo.InvariantCulture, $"Use at most {mostMiB}m."));
    }

    /// <summary>A charset name; "none" gives the empty string.</summary>
    public static string Charset(string text) => text switch
    {
        "none" => "",
        "" => throw Refuse(text, "empty", "Use a name such as utf-8, or none."),
        _ => text,
    };

    public static List<string> List(string text) =>
        [.. text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)];

    public static ArchiveFormats Archives(string text)
    {
        ArchiveFormats formats = ArchiveFormats.None;
        foreach (string name in List(text).DefaultIfEmpty(""))
        {
            ArchiveFormats format = ArchiveFormatNames.Named(Encoding.UTF8.GetBytes(name));
            formats |= format != ArchiveFormats.None || name == "off"
                ? format
                : throw Refuse(name, "not a format of archives", "Write tar.gz, zip, or both with a comma between them; or off.");
        }

        return formats;
    }

    /// <summary>The texts before and after the first '='.</summary>
    public static (string Left, string Right) Pair(string text, string form)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        return equals > 0
            ? (text[..equals].Trim(), text[(equals + 1)..].Trim())
            : throw Refuse(text, "incomplete", $"Write {form}.");
    }

    /// <summary><c>Name: value</c> for all paths, <c>GLOB=Name: value</c> for some.</summary>
    public static FieldRule Field(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        int equals = text.IndexOf('=', StringComparison.Ordinal);

        // A path may contain a colon, but a field name no slash.
        bool hasPattern = equals > 0 && (equals < colon || text[0] is '/' or '*');
        string pattern = hasPattern ? text[..equals].Trim() : "*";
        string field = hasPattern ? text[(equals + 1)..] : text;
        colon = field.IndexOf(':', StringComparison.Ordinal);
        return colon > 0
            ? new FieldRule(pattern, field[..colon].Trim(), field[(colon + 1)..].Trim())
            : throw Refuse(text, "not a field", "Write 'Name: value', or 'GLOB=Name: value' for some paths.");
    }

    /// <summary>Clients for all paths, <c>GLOB=clients</c> for some.</summary>
    public static ClientRule Clients(string text)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        return new ClientRule(equals < 0 ? "*" : text[..equals].Trim(), List(text[(equals + 1)..]));
    }

    public static List<string> FieldNames(string text)
    {
        List<string> names = List(text);
        return names.Find(static name => !FieldValidation.IsToken(name)) is { } refused
            ? throw Refuse(refused, "not the name of a field", "Write names such as Remote-User,Remote-Email.")
            : names;
    }

    public static RedirectRule Redirect(string text)
    {
        RedirectRule rule = RedirectsFile.ParseLine(text, defaultStatus: 301);
        return rule.Status == 200
            ? throw Refuse(text, "not a redirect: its status is 200", "Write 301 or another status, or use --rewrite.")
            : rule.Status < 400 && rule.From == rule.To && rule.Query.Count == 0
                ? throw Refuse(text, "a redirect to itself", "Write another target.")
            : rule;
    }

    public static RedirectRule Rewrite(string text) => RedirectsFile.ParseLine(text, defaultStatus: 200) is { Status: 200 } rule
        ? rule
        : throw Refuse(text, "not a rewrite: its status is not 200", "Write 'FROM TO', or use --redirect.");

    public static (int Status, string Path) ErrorPage(string text)
    {
        (string status, string path) = Pair(text, "STATUS=PATH, such as 404=/missing.html");
        return IsDigits(status) && int.TryParse(status, NumberStyles.None, CultureInfo.InvariantCulture, out int number)
            ? (number, path)
            : throw Refuse(text, "not a page for an error status", "Write STATUS=PATH, such as 404=/missing.html.");
    }

    /// <summary>Alternatives in a sentence: <c>a, b or c</c>.</summary>
    public static string AnyOf(IEnumerable<string> words) =>
        words.ToArray() is [.. { Length: > 0 } first, var last] ? $"{string.Join(", ", first)} or {last}" : string.Concat(words);

    /// <summary>The runtime also accepts zero characters after a number.</summary>
    private static bool IsDigits(ReadOnlySpan<char> text) => !text.ContainsAnyExceptInRange('0', '9');

    public static SiteException Refuse(string text, string why, string remedy) => new($"'{FieldValidation.Shown(text)}' is {why}.", remedy);
}
