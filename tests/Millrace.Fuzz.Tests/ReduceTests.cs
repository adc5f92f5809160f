using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests;

/// <summary>
/// What ended the process is made short in processes of its own: MILLRACE_FUZZ_REDUCE names the input, or a planted one is taken.
/// </summary>
public class ReduceTests
{
    [Fact]
    public void An_input_that_ends_the_process_is_made_short()
    {
        string? path = Environment.GetEnvironmentVariable("MILLRACE_FUZZ_REDUCE");
        string target = path is null ? OverrunTarget.TargetName : FuzzSettings.Target!;
        byte[] input = path is null ? "a Xb"u8.ToArray() : KeptInput.Read(path);
        Assert.True(ChildReplay.Fails(target, input), "It does not end the process any more.");

        byte[] reduced = new Reducer(shorter => ChildReplay.Fails(target, shorter)).Reduce(input);

        string kept = Path.Combine(FuzzSettings.Folder, $"{target}-reduced.txt");
        File.WriteAllText(kept, Escaped.Write(reduced) + "\n");
        TestContext.Current.TestOutputHelper!.WriteLine($"{Escaped.Write(reduced)}\nkept as {kept}");
        Assert.True(reduced.Length < input.Length || path is not null, "A planted overrun was not made short.");
        Assert.True(path is not null || reduced is [(byte)'X'], Escaped.Write(reduced));
    }
}
