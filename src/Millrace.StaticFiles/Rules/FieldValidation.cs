using System.Collections.Frozen;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Validates the fields that a rule may set: names and values by RFC 9110, section 5, and none that the server itself controls. A wrong one
/// of those could make a response unreadable, or a cache store the wrong content.
/// </summary>
internal static class FieldValidation
{
    /// <summary>Longer than any policy in use, and short enough for every client: clients limit a head to 16 KiB or more.</summary>
    public const int ValueCharactersMax = 8 * 1024;

    private const string Framing = "it says where the body ends";
    private const string Hop = "it is about the connection";
    private const string Representation = "it depends on the bytes that are sent";
    private const string Status = "it belongs to a status the server chooses";

    private static readonly FrozenDictionary<string, string> Owned = new Dictionary<string, string>
    {
        ["Content-Length"] = Framing,
        ["Transfer-Encoding"] = Framing,
        ["Trailer"] = Framing,
        ["Connection"] = Hop,
        ["Keep-Alive"] = Hop,
        ["Proxy-Connection"] = Hop,
        ["TE"] = Hop,
        ["Upgrade"] = Hop,
        ["Content-Encoding"] = Representation,
        ["Content-Range"] = Representation,
        ["Accept-Ranges"] = Representation,
        ["ETag"] = Representation,
        ["Last-Modified"] = Representation,
        ["Date"] = "it is the time of each response",
        ["Allow"] = Status,
        ["Location"] = Status + ": a redirect sets it",
        ["Retry-After"] = Status,
        ["WWW-Authenticate"] = Status,
    }.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);

    public static IEnumerable<string> OwnedNames => Owned.Keys;

    /// <summary>
    /// Throws <see cref="SiteException"/> for a field that a rule cannot set. If the server handles CORS, it sets those fields: browsers
    /// reject a response with two of them.
    /// </summary>
    public static void Check(string name, string value, bool hasCors = false)
    {
        CheckName(name);
        CheckValue(name, value);
        if (hasCors && (Is(name, "Access-Control-Allow-Origin") || Is(name, "Access-Control-Allow-Credentials")))
        {
            throw new SiteException($"The field {name} is set by the server if CORS is configured.", "Leave the field or the option out.");
        }
    }

    /// <summary>Throws <see cref="SiteException"/> for a name of fields that a rule can neither set nor remove.</summary>
    public static void CheckName(string name)
    {
        if (!IsToken(name))
        {
            throw new SiteException($"'{Shown(name)}' is not a field name.", "Use letters, digits and dashes.");
        }

        if (Is(name, "Basic-Auth"))
        {
            throw new SiteException(
                "Basic-Auth is how Netlify asks for passwords; here all clients would get them, and the path is not protected.",
                "Protect the site with a password file (--auth FILE), and take the passwords out.");
        }

        if (Owned.TryGetValue(name, out string? reason))
        {
            throw new SiteException($"The field {name} is set by the server: {reason}.", "Leave it out.");
        }
    }

    /// <summary>Throws <see cref="SiteException"/> for a value that the field cannot have.</summary>
    public static void CheckValue(string name, string value)
    {
        if (value.Length == 0)
        {
            throw new SiteException($"The value of {name} is empty.", "Write one, or leave the field out.");
        }

        if (value.Length > ValueCharactersMax)
        {
            throw new SiteException($"The value of {name} has {value.Length} characters.", $"Write at most {ValueCharactersMax}.");
        }

        // RFC 9110, section 5.5, allows bytes of 0x80 and above, but readers interpret them differently.
        if (value.AsSpan().ContainsAnyExceptInRange(' ', '~') && value.Any(character => character != '\t' && character is < ' ' or > '~'))
        {
            throw new SiteException(
                $"The value of {name} holds a control character or one beyond ASCII.",
                "Write it in ASCII, percent-encoded where it is a URL.");
        }

        if (value[0] is ' ' or '\t' || value[^1] is ' ' or '\t')
        {
            throw new SiteException($"The value of {name} starts or ends with whitespace.", "Trim it.");
        }

        if (Is(name, "Content-Type") && !IsMediaType(value))
        {
            throw new SiteException($"'{Shown(value)}' is not a content type.", "Write type/subtype, such as text/plain; charset=utf-8.");
        }
    }

    /// <summary>RFC 9110, section 8.3.1: type and subtype are tokens; parameters are not checked.</summary>
    public static bool IsMediaType(string value)
    {
        string essence = value.Split(';')[0].TrimEnd();
        int slash = essence.IndexOf('/', StringComparison.Ordinal);
        return slash > 0 && IsToken(essence[..slash]) && IsToken(essence[(slash + 1)..]);
    }

    /// <summary>RFC 9110, section 5.6.2.</summary>
    public static bool IsToken(string text) =>
        text.Length > 0 && Ascii.IsValid(text) && !Encoding.ASCII.GetBytes(text).AsSpan().ContainsAnyExcept(ByteClasses.Token);

    private static bool Is(string name, string other) => name.Equals(other, StringComparison.OrdinalIgnoreCase);

    /// <summary>A text for a message: short, and without control characters.</summary>
    public static string Shown(string text)
    {
        string start = text.Length > 60 ? text[..60] + "..." : text;
        return WithoutControls(start);
    }

    /// <summary>A text with '?' for each control character, with which it could forge lines of a log.</summary>
    public static string WithoutControls(string text) =>
        string.Concat(text.Select(static character => char.IsControl(character) ? '?' : character));
}
