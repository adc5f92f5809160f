using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>A response field with a valid name and value.</summary>
internal sealed class Field
{
    private readonly byte[] _nameBytes;
    private readonly byte[] _valueBytes;

    public Field(string name, string value)
    {
        Name = name;
        Value = value;
        _nameBytes = Encoding.ASCII.GetBytes(name);
        _valueBytes = Encoding.ASCII.GetBytes(value);
    }

    public string Name { get; }

    public string Value { get; }

    public ReadOnlySpan<byte> NameBytes => _nameBytes;

    public ReadOnlySpan<byte> ValueBytes => _valueBytes;

    public bool Is(string name) => Name.Equals(name, StringComparison.OrdinalIgnoreCase);

    public override string ToString() => $"{Name}: {Value}";
}
