using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>A query parameter that a route requires: a name, and a value or the index of a capture.</summary>
internal sealed class RequiredQuery(string name, string value, int capture)
{
    /// <summary>The <see cref="Capture"/> of a parameter that requires a fixed value.</summary>
    public const int NoCapture = -1;

    private readonly byte[] _name = Encoding.UTF8.GetBytes(name);
    private readonly byte[] _value = Encoding.UTF8.GetBytes(value);

    public ReadOnlySpan<byte> Name => _name;

    /// <summary>The required value, decoded.</summary>
    public ReadOnlySpan<byte> Value => _value;

    public int Capture { get; } = capture;

    /// <summary>Whether one of the required parameters has this raw name.</summary>
    public static bool Names(ReadOnlySpan<RequiredQuery> parameters, ReadOnlySpan<byte> rawName)
    {
        foreach (RequiredQuery parameter in parameters)
        {
            if (QueryText.DecodesTo(rawName, parameter.Name))
            {
                return true;
            }
        }

        return false;
    }
}
