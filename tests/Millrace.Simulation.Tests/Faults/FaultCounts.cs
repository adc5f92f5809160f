using System.Globalization;
using System.Text;

namespace Millrace.Simulation.Tests.Faults;

/// <summary>How often each kind of fault was injected.</summary>
internal sealed class FaultCounts
{
    public static readonly int Kinds = Enum.GetValues<FaultKind>().Length;

    private readonly long[] _counts = new long[Kinds];

    public long this[FaultKind kind] => _counts[(int)kind];

    public void Count(FaultKind kind) => _counts[(int)kind]++;

    public void Add(FaultCounts other)
    {
        for (int kind = 0; kind < _counts.Length; kind++)
        {
            _counts[kind] += other._counts[kind];
        }
    }

    public override string ToString()
    {
        var text = new StringBuilder();
        for (int kind = 0; kind < _counts.Length; kind++)
        {
            text.Append(CultureInfo.InvariantCulture, $"  {(FaultKind)kind,-18} {_counts[kind],14:N0}\n");
        }

        return text.ToString();
    }
}
