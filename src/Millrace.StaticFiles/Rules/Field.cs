using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>A response field with a valid name and value.</summary>
internal sealed class Field(string name, string value)
{
    private readonly byte[] _nameBytes = Encoding.ASCII.GetBytes(name);
    private readonly byte[] _valueBytes = Encoding.ASCII.GetBytes(value);

    public string Name => name;

    public string Value => value;

    public ReadOnlySpan<byte> NameBytes => _nameBytes;

    public ReadOnlySpan<byte> ValueBytes => _valueBytes;

    public bool Is(string other) => Name.Equals(other, StringComparison.OrdinalIgnoreCase);

    /// <summary>The field with the value of another one of its name appended; false, with this field, if that is too long.</summary>
    public bool TryJoin(Field other, out Field joined)
    {
        bool fits = Value.Length + other.Value.Length < FieldValidation.ValueCharactersMax;
        joined = fits ? new Field(Name, $"{Value}, {other.Value}") : this;
        return fits;
    }

    public override string ToString() => $"{Name}: {Value}";
}

/// <summary>The effect of a rule on the fields of a response.</summary>
internal readonly record struct FieldEdit(FieldEditKind Kind, Field Field)
{
    /// <summary>
    /// Fields with a list value, for which the values of two blocks of <c>_headers</c> are joined. Cache-Control and
    /// Content-Security-Policy, although lists by their grammar, are not among them: a rule for some paths is meant to replace the one for
    /// all paths.
    /// </summary>
    private static readonly string[] Lists =
    [
        "Accept-CH", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Expose-Headers",
        "Clear-Site-Data", "Link", "Server-Timing", "Timing-Allow-Origin", "Vary", "X-Robots-Tag",
    ];

    /// <summary>A field of a block of <c>_headers</c>.</summary>
    public static FieldEdit OfBlock(Field field)
    {
        FieldEditKind kind = field.Is("Set-Cookie") ? FieldEditKind.Add
            : Array.Exists(Lists, field.Is) ? FieldEditKind.Join
            : FieldEditKind.Replace;
        return new FieldEdit(kind, field);
    }

    public static FieldEdit OfOption(Field field) => new(FieldEditKind.Replace, field);
}

internal enum FieldEditKind : byte
{
    /// <summary>The field replaces all fields of its name.</summary>
    Replace,

    /// <summary>Its value is appended to that of the field of its name, if there is one.</summary>
    Join,

    /// <summary>The field is an additional line: needed for Set-Cookie, whose values contain commas (RFC 9110, section 5.3).</summary>
    Add,

    /// <summary>No field of its name is sent.</summary>
    Remove,
}

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
        ContentSecurityPolicy = Find("Content-Security-Policy");
    }

    public ReadOnlySpan<Field> Fields => _fields;

    /// <summary>The Content-Type among them, which replaces the asset's own; null for none.</summary>
    public Field? ContentType { get; }

    /// <summary>The Cache-Control among them; null if a rule removed it.</summary>
    public Field? CacheControl { get; }

    public Field? ContentSecurityPolicy { get; }

    /// <summary>
    /// The HTTP/1.1 encoding of the set; null until first used. Any thread may set it: two threads that race make two equal values, and one
    /// is dropped.
    /// </summary>
    public object? Http1Lines { get; set; }

    /// <summary>The HTTP/2 encoding of the set, in the same way.</summary>
    public object? Http2Lines { get; set; }

    /// <summary>The HTTP/3 encoding of the set, in the same way.</summary>
    public object? Http3Lines { get; set; }

    /// <summary>The encoding for ASP.NET Core, in the same way.</summary>
    public object? HostedFields { get; set; }

    /// <summary>The first field of that name, in any case; null if there is none.</summary>
    public Field? Find(string name) => Array.Find(_fields, field => field.Is(name));
}
