namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields that rules give an answer, in the order they are sent. Immutable, but for the fronts' caches, and interned: answers
/// of the same rules share one instance, so that a front encodes each set once.
/// </summary>
internal sealed class FieldSet
{
    public static readonly FieldSet Empty = new([]);

    private readonly Field[] _fields;

    public FieldSet(Field[] fields)
    {
        _fields = fields;
        ContentType = Find("Content-Type");
        CacheControl = Find("Cache-Control");
    }

    public ReadOnlySpan<Field> Fields => _fields;

    /// <summary>The Content-Type among them, which then replaces the asset's own, or null.</summary>
    public Field? ContentType { get; }

    /// <summary>The Cache-Control among them, or null where a rule took it away.</summary>
    public Field? CacheControl { get; }

    /// <summary>
    /// HTTP/1.1's own encoding of the set, null until somebody asked for it. Any thread may set it: two that race make two equal
    /// values and one is dropped.
    /// </summary>
    public object? Http1Lines { get; set; }

    /// <summary>The same of HTTP/2.</summary>
    public object? Http2Lines { get; set; }

    /// <summary>The same of ASP.NET Core's front.</summary>
    public object? HostedFields { get; set; }

    /// <summary>The first field of that name, in any case, or null.</summary>
    public Field? Find(string name) => Array.Find(_fields, field => field.Is(name));
}
