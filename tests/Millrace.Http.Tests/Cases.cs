using Xunit.Sdk;

namespace Millrace.Http.Tests;

/// <summary>Runs a property over many seeded cases. A failure names its seed; MILLRACE_TEST_SEED repeats it as the first case.</summary>
internal static class Cases
{
    public static void Run(int count, Action<Random> property)
    {
        string? fixedSeed = Environment.GetEnvironmentVariable("MILLRACE_TEST_SEED");
        int first = fixedSeed is null ? Random.Shared.Next(int.MaxValue / 2) : int.Parse(fixedSeed, null);
        for (int seed = first; seed < first + count; seed++)
        {
            try
            {
                property(new Random(seed));
            }
            catch (Exception failure)
            {
                throw new XunitException($"MILLRACE_TEST_SEED={seed} repeats this: {failure.Message}", failure);
            }
        }
    }
}
