using System.Text;

namespace Millrace.StaticFiles.Content;

/// <summary>The value of a Content-Type field (RFC 9110, section 8.3). One instance per value, shared by all its assets.</summary>
internal sealed class ContentType
{
    private readonly byte[] _value;

    internal ContentType(string value)
    {
        Value = value;
        _value = Encoding.ASCII.GetBytes(value);
    }

    public string Value { get; }

    public ReadOnlySpan<byte> Bytes => _value;

    public override string ToString() => Value;
}
