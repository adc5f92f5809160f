using System.Diagnostics;
using Millrace.Http;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The memory that a plan is made in: decoded paths, field values, ranges. One per reactor: a plan is used before the next one is made.
/// </summary>
internal sealed class PlanScratch
{
    /// <summary>More than any plan adds: a CORS preflight has five fields, a redirect two.</summary>
    private const int FieldsMax = 12;

    private readonly PlanField[] _fields = new PlanField[FieldsMax];
    private readonly ByteRange[] _ranges = new ByteRange[ByteRanges.Max];
    private readonly byte[] _rule = new byte[8 * 1024];
    private byte[] _path = new byte[1024];
    private byte[] _target = new byte[1024];
    private byte[] _values = new byte[1024];
    private byte[] _readings = [];
    private int _valueBytes;
    private int _fieldCount;
    private VaryNames _vary;
    private PlanField _varyField;

    /// <summary>Collects the paths that a plan depends on, found or not; normally null.</summary>
    public HashSet<byte[]>? LookedUpPaths { get; init; }

    public Span<ByteRange> Ranges => _ranges;

    public ReadOnlySpan<PlanField> Fields => _fields.AsSpan(0, _fieldCount);

    public ReadOnlySpan<byte> ValueOf(in PlanField field) => _values.AsSpan(field.Start, field.Length);

    public void Reset()
    {
        _valueBytes = _fieldCount = 0;
        _vary = VaryNames.None;
    }

    public Span<byte> PathRoom(int bytes) => Room(ref _path, bytes);

    /// <summary>Room for the path or location that a rule leads to: as long as a request target may be.</summary>
    public Span<byte> RuleRoom => _rule;

    /// <summary>Room for the path of a file that is found by another path.</summary>
    public Span<byte> TargetRoom(int bytes) => Room(ref _target, bytes);

    /// <summary>Room for the readings of a path that rules about access match.</summary>
    public Span<byte> ReadingsRoom(int bytes) => Room(ref _readings, bytes);

    /// <summary>Adds a field with a copy of its value.</summary>
    public void Add(PlanFieldName name, scoped ReadOnlySpan<byte> value)
    {
        value.CopyTo(ValueRoom(value.Length));
        Commit(name, value.Length);
    }

    /// <summary>Adds to Vary, which is one field, whatever the response depends on.</summary>
    public void Vary(VaryNames names)
    {
        if (_vary.HasFlag(names))
        {
            return;
        }

        _vary |= names;
        ReadOnlySpan<byte> value = _vary.Text();
        int at = Fields.IndexOf(_varyField);
        Add(PlanFieldName.Vary, value);
        _varyField = _fields[_fieldCount - 1];
        if (at >= 0)
        {
            _fields[at] = _varyField;
            _fieldCount--;
        }
    }

    /// <summary>Room for the value of the field that <see cref="Commit"/> then adds.</summary>
    public Span<byte> ValueRoom(int bytes)
    {
        if (_values.Length - _valueBytes < bytes)
        {
            Array.Resize(ref _values, Math.Max(_values.Length * 2, _valueBytes + bytes));
        }

        return _values.AsSpan(_valueBytes);
    }

    public void Commit(PlanFieldName name, int bytes)
    {
        Debug.Assert(_fieldCount < FieldsMax, "a plan adds few fields");
        _fields[_fieldCount++] = new PlanField(name, _valueBytes, bytes);
        _valueBytes += bytes;
    }

    private static Span<byte> Room(ref byte[] memory, int bytes)
    {
        if (memory.Length < bytes)
        {
            memory = new byte[Math.Max(memory.Length * 2, bytes)];
        }

        return memory;
    }
}

/// <summary>A field of the response beside those of its asset and of the site's rules.</summary>
internal readonly record struct PlanField(PlanFieldName Name, int Start, int Length);

internal enum PlanFieldName : byte
{
    Allow,
    Location,
    ContentRange,
    WwwAuthenticate,
    RetryAfter,
    Vary,
    AccessControlAllowOrigin,
    ContentSecurityPolicy,
    RateLimit,
    RateLimitPolicy,
    ContentDisposition,
    Link,
    UseAsDictionary,
}

internal static class PlanFieldNames
{
    public static ReadOnlySpan<byte> Text(this PlanFieldName name) => name switch
    {
        PlanFieldName.Allow => "Allow"u8,
        PlanFieldName.Location => "Location"u8,
        PlanFieldName.ContentRange => "Content-Range"u8,
        PlanFieldName.WwwAuthenticate => "WWW-Authenticate"u8,
        PlanFieldName.RetryAfter => "Retry-After"u8,
        PlanFieldName.Vary => "Vary"u8,
        PlanFieldName.AccessControlAllowOrigin => "Access-Control-Allow-Origin"u8,
        PlanFieldName.ContentSecurityPolicy => "Content-Security-Policy"u8,
        PlanFieldName.RateLimit => "RateLimit"u8,
        PlanFieldName.RateLimitPolicy => "RateLimit-Policy"u8,
        PlanFieldName.ContentDisposition => "Content-Disposition"u8,
        PlanFieldName.Link => "Link"u8,
        PlanFieldName.UseAsDictionary => "Use-As-Dictionary"u8,
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such field."),
    };
}

/// <summary>What of a request a response may depend on besides its target, for Vary (RFC 9110, section 12.5.5).</summary>
[Flags]
internal enum VaryNames : byte
{
    None = 0,
    Accept = 1,
    AcceptEncoding = 2,
}

internal static class VaryNamesExtensions
{
    public static ReadOnlySpan<byte> Text(this VaryNames names) => names switch
    {
        VaryNames.Accept => "Accept"u8,
        VaryNames.AcceptEncoding => "Accept-Encoding"u8,
        _ => "Accept, Accept-Encoding"u8,
    };
}
