namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields that rules give a response, in the order of sending. Immutable except for the encoders' caches, and interned: responses of
/// the same rules share one instance, so that each encoder encodes a set once.
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

    /// <summary>The Content-Type among them, which replaces the asset's own; null for none.</summary>
    public Field? ContentType { get; }

    /// <summary>The Cache-Control among them; null if a rule removed it.</summary>
    public Field? CacheControl { get; }

    /// <summary>
    /// The HTTP/1.1 encoding of the set; null until first used. Any thread may set it: two threads that race make two equal values, and one
    /// is dropped.
    /// </summary>
    public object? Http1Lines { get; set; }

    /// <summary>The HTTP/2 encoding of the set, in the same way.</summary>
    public object? Http2Lines { get; set; }

    /// <summary>The encoding for ASP.NET Core, in the same way.</summary>
    public object? HostedFields { get; set; }

    /// <summary>The first field of that name, in any case; null if there is none.</summary>
    public Field? Find(string name) => Array.Find(_fields, field => field.Is(name));
}
