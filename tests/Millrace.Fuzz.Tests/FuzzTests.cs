using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests;

/// <summary>
/// Strangers' bytes against slow second implementations and invariants. A failure prints the seed that repeats its run, and keeps the
/// input, shortened, as a file; a line of it in the target's corpus makes it a test for good.
/// </summary>
public class FuzzTests
{
    public static TheoryData<string> Targets => [.. FuzzTargets.Wanted.Select(target => target.Name)];

    [Theory]
    [MemberData(nameof(Targets))]
    public void What_strangers_send_is_read_as_the_model_reads_it(string target) => Run(target, FuzzSettings.Usual);

    [Theory]
    [Trait("Duration", "Long")]
    [MemberData(nameof(Targets))]
    public void What_strangers_send_for_long_is_read_as_the_model_reads_it(string target) => Run(target, FuzzSettings.Long);

    private static void Run(string name, TimeSpan time)
    {
        FuzzTarget target = FuzzTargets.Find(name);
        using var log = new InputLog(Path.Combine(FuzzSettings.Folder, $"{name}.running"));

        FuzzReport report = new Fuzzer(target, FuzzSettings.Seed, log).Run(time);

        string summary = $"{name}: {report.Executions:N0} inputs, {report.Outcomes.Count} outcomes, MILLRACE_SEED={FuzzSettings.Seed}";
        TestContext.Current.TestOutputHelper!.WriteLine(summary);
        if (report.Failure is FuzzFailure failure)
        {
            string kept = Keep(name, failure.Reduced);
            Assert.Fail($"{summary}\n{failure.Cause}\nshortened: {Escaped.Write(failure.Reduced)}\nfound as: {Escaped.Write(failure.Found)}\n"
                + $"kept as {kept}: 'tests/Millrace.Fuzz.Tests/fuzz replay {name} FILE' checks it again");
        }

        Assert.True(report.Outcomes.Count >= target.OutcomesMin, $"{summary}: {string.Join(", ", report.Outcomes.Keys)}");
    }

    private static string Keep(string target, byte[] input)
    {
        string path = Path.Combine(FuzzSettings.Folder, $"{target}-{Convert.ToHexStringLower(BitConverter.GetBytes(Hash(input)))}.txt");
        File.WriteAllText(path, Escaped.Write(input) + "\n");
        return path;
    }

    private static uint Hash(byte[] input) => input.Aggregate(2166136261, (hash, value) => (hash ^ value) * 16777619);
}
