using System.Globalization;

namespace Millrace.Engine.Tests.Unit.Kit;

/// <summary>
/// Repeats a property with many seeds: the same ones every time and some new ones. A failure names its seed;
/// <c>MILLRACE_SEED=n</c> repeats that one alone.
/// </summary>
internal static class Seeds
{
    private const int NewSeeds = 10;

    public static void ForEach(int count, Action<Random> property)
    {
        string? only = Environment.GetEnvironmentVariable("MILLRACE_SEED");
        IEnumerable<int> seeds = only is not null
            ? [int.Parse(only, CultureInfo.InvariantCulture)]
            : [.. Enumerable.Range(1, count), .. Enumerable.Range(0, NewSeeds).Select(_ => Random.Shared.Next())];
        foreach (int seed in seeds)
        {
            try
            {
                property(new Random(seed));
            }
#pragma warning disable CA1031 // Rethrown with the seed.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                Assert.Fail($"MILLRACE_SEED={seed}: {failure}");
            }
        }
    }

    /// <summary>Small as often as large: the length itself is chosen by order of magnitude.</summary>
    public static int NextSize(this Random random, int max) => random.Next(1, Math.Min(max, 1 << random.Next(1, 31)) + 1);
}
