using System.Text.Json;

namespace Millrace.Acme.Protocol;

/// <summary>
/// The members of a JSON object that a server sent. What is missing, or is not of its type, is a <see cref="FormatException"/> that names
/// it; a string that is not Unicode is an <see cref="InvalidOperationException"/> of the runtime.
/// </summary>
internal readonly struct AcmeFields
{
    private readonly JsonElement _object;
    private readonly Uri _directory;

    /// <param name="element">The object.</param>
    /// <param name="directory">The server's, which decides which URLs it may name.</param>
    public AcmeFields(JsonElement element, Uri directory)
    {
        if (element.ValueKind != JsonValueKind.Object)
        {
            throw new FormatException($"a JSON object is expected, not {Kind(element)}");
        }

        _object = element;
        _directory = directory;
    }

    /// <summary>Whether a URL of the server's may be requested: https; http on this machine, where the directory has it too.</summary>
    public static bool IsAllowed(Uri url, Uri directory) => url.IsAbsoluteUri
        && (url.Scheme == Uri.UriSchemeHttps
            || (url.Scheme == Uri.UriSchemeHttp && url.IsLoopback && directory.Scheme == Uri.UriSchemeHttp));

    public string Text(string name) => TextOrNull(name) ?? throw new FormatException($"the field \"{name}\" is missing");

    public string? TextOrNull(string name)
    {
        JsonElement? value = Find(name);
        return value is { ValueKind: not JsonValueKind.String } other
            ? throw new FormatException($"the field \"{name}\" is {Kind(other)}, not a string")
            : value?.GetString();
    }

    public Uri Url(string name) => UrlOrNull(name) ?? throw new FormatException($"the field \"{name}\" is missing");

    public Uri? UrlOrNull(string name) => TextOrNull(name) is { } text ? UrlOf(name, text) : null;

    /// <summary>A page for people, which is not requested; null if it is not one that can be shown.</summary>
    public Uri? PageOrNull(string name) =>
        Uri.TryCreate(TextOrNull(name), UriKind.Absolute, out Uri? page)
        && (page.Scheme == Uri.UriSchemeHttps || page.Scheme == Uri.UriSchemeHttp) ? page : null;

    public IReadOnlyList<Uri> Urls(string name)
    {
        var urls = new List<Uri>();
        foreach (JsonElement element in Array(name))
        {
            urls.Add(element.ValueKind == JsonValueKind.String
                ? UrlOf(name, element.GetString()!)
                : throw new FormatException($"the field \"{name}\" contains {Kind(element)}"));
        }

        return urls;
    }

    public DateTimeOffset Time(string name) =>
        TimeOrNull(name) ?? throw new FormatException($"the field \"{name}\" is missing, or is not a time");

    /// <summary>Null also for what is not a time. One without an offset, which RFC 3339 does not allow, is taken as UTC.</summary>
    public DateTimeOffset? TimeOrNull(string name)
    {
        if (Find(name) is not { ValueKind: JsonValueKind.String } value || !value.TryGetDateTimeOffset(out DateTimeOffset time))
        {
            return null;
        }

        return value.TryGetDateTime(out DateTime plain) && plain.Kind == DateTimeKind.Unspecified
            ? new DateTimeOffset(plain, TimeSpan.Zero)
            : time;
    }

    /// <summary>Null also for what is not a small number.</summary>
    public int? NumberOrNull(string name) =>
        Find(name) is { ValueKind: JsonValueKind.Number } value && value.TryGetInt32(out int number) ? number : null;

    public bool IsTrue(string name) => Find(name) is { ValueKind: JsonValueKind.True };

    /// <summary>One of an enum's names.</summary>
    public T OneOf<T>(string name)
        where T : struct, Enum
    {
        string text = Text(name);
        foreach (T value in Enum.GetValues<T>())
        {
            if (string.Equals(value.ToString(), text, StringComparison.OrdinalIgnoreCase))
            {
                return value;
            }
        }

        throw new FormatException($"the field \"{name}\" has the unknown value \"{AcmeText.Clean(text)}\"");
    }

    public AcmeFields Object(string name) => ObjectOrNull(name) ?? throw new FormatException($"the field \"{name}\" is missing");

    public AcmeFields? ObjectOrNull(string name) => Find(name) is { } value ? new AcmeFields(value, _directory) : null;

    public IReadOnlyList<AcmeFields> Objects(string name)
    {
        var objects = new List<AcmeFields>();
        foreach (JsonElement element in Array(name))
        {
            objects.Add(new AcmeFields(element, _directory));
        }

        return objects;
    }

    public IReadOnlyList<AcmeFields> ObjectsOrNone(string name) => Find(name) is null ? [] : Objects(name);

    /// <summary>The names of the object's members.</summary>
    public IReadOnlyList<string> Names() => [.. _object.EnumerateObject().Select(static member => member.Name)];

    private JsonElement.ArrayEnumerator Array(string name) => Find(name) switch
    {
        { ValueKind: JsonValueKind.Array } value => value.EnumerateArray(),
        { } other => throw new FormatException($"the field \"{name}\" is {Kind(other)}, not an array"),
        null => throw new FormatException($"the field \"{name}\" is missing"),
    };

    /// <summary>A member that is null counts as missing.</summary>
    private JsonElement? Find(string name) =>
        _object.TryGetProperty(name, out JsonElement value) && value.ValueKind != JsonValueKind.Null ? value : null;

    private Uri UrlOf(string name, string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && IsAllowed(url, _directory)
            ? url
            : throw new FormatException($"the field \"{name}\" has a URL that is not used: \"{AcmeText.Clean(text)}\"");

    private static string Kind(JsonElement element) => element.ValueKind switch
    {
        JsonValueKind.Object => "an object",
        JsonValueKind.Array => "an array",
        JsonValueKind.String => "a string",
        JsonValueKind.Number => "a number",
        JsonValueKind.Null => "null",
        _ => "a boolean",
    };
}
