using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>A query parameter that a route asks for: a name, and a value or the place of a capture.</summary>
internal sealed class QueryDemand(string name, string value, int capture)
{
    /// <summary>What <see cref="Capture"/> is for a demand of one value.</summary>
    public const int NoCapture = -1;

    private readonly byte[] _name = Encoding.UTF8.GetBytes(name);
    private readonly byte[] _value = Encoding.UTF8.GetBytes(value);

    public ReadOnlySpan<byte> Name => _name;

    /// <summary>Of a demand of one value: it, decoded.</summary>
    public ReadOnlySpan<byte> Value => _value;

    public int Capture { get; } = capture;

    /// <summary>Whether one of the demands is about the parameter of this raw name.</summary>
    public static bool Names(ReadOnlySpan<QueryDemand> demands, ReadOnlySpan<byte> rawName)
    {
        foreach (QueryDemand demand in demands)
        {
            if (QueryText.DecodesTo(rawName, demand.Name))
            {
                return true;
            }
        }

        return false;
    }
}
