using System.Text;
using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests;

/// <summary>The fuzzer finds what is planted, says it again when asked, and makes it short.</summary>
public class KitTests
{
    [Fact]
    public void A_planted_fault_is_found_repeated_by_its_seed_and_made_short()
    {
        FuzzReport first = RunPlanted(seed: 7);
        FuzzReport second = RunPlanted(seed: 7);

        Assert.IsType<DisagreementException>(first.Failure!.Cause);
        Assert.Equal((first.Executions, Text(first.Failure.Found)), (second.Executions, Text(second.Failure!.Found)));
        Assert.Equal("q=1q=", Text(first.Failure.Reduced));
    }

    [Fact]
    public void An_overrun_ends_the_process()
    {
        string path = Path.Combine(FuzzSettings.Folder, "overrun-planted.txt");
        File.WriteAllText(path, "aaaa X b");
        Assert.Equal(ChildExit.Crashed, ChildReplay.Run("overrun", path));

        File.WriteAllText(path, "aaaa b");
        Assert.Equal(ChildExit.Passed, ChildReplay.Run("overrun", path));
    }

    [Fact]
    public void The_input_under_test_can_be_read_from_another_process()
    {
        string path = Path.Combine(FuzzSettings.Folder, "log.running");
        using var log = new InputLog(path);
        log.Write("a longer input"u8);
        log.Write("an input"u8);

        Assert.Equal("an input", Text(KeptInput.Read(path)));

        log.Clear();
        Assert.False(File.Exists(path));
    }

    [Fact]
    public void Every_byte_is_written_and_read_as_text()
    {
        byte[] all = [.. Enumerable.Range(0, 256).Select(value => (byte)value)];

        string line = Escaped.Write(all);

        Assert.Equal(all, Escaped.Read(line));
        Assert.DoesNotContain(line, letter => letter is < ' ' or > '~');
        Assert.Equal(Encoding.UTF8.GetBytes("é"), Escaped.Read("é"));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4095)]
    [InlineData(4096)]
    [InlineData(4097)]
    public void Guarded_memory_holds_what_it_is_given_at_either_end(int bytes)
    {
        byte[] content = new byte[bytes];
        new Random(bytes).NextBytes(content);
        var memory = new GuardedMemory(bytes);

        Assert.True(memory.Copy(content).SequenceEqual(content));
        Assert.True(memory.Copy(content, Placement.AtStart).SequenceEqual(content));
    }

    private static FuzzReport RunPlanted(int seed)
    {
        using var log = new InputLog(Path.Combine(FuzzSettings.Folder, "planted.running"));
        return new Fuzzer(new PlantedTarget(), seed, log).Run(TimeSpan.FromSeconds(30));
    }

    private static string Text(byte[] bytes) => Latin1.Text(bytes);

    /// <summary>Fails for two weights, the first of which is 1: three mutations away from its corpus, which is that of accept.</summary>
    private sealed class PlantedTarget : FuzzTarget
    {
        public override string Name => "accept";

        public override IReadOnlyList<string> Words => ["q=", "1"];

        public override byte[] Generate(Random random) => Latin1.Bytes("a;q=0.5");

        public override string Check(ReadOnlySpan<byte> input)
        {
            int first = input.IndexOf("q=1"u8);
            Require(first < 0 || input[(first + 3)..].IndexOf("q="u8) < 0, "planted");
            return first < 0 ? "without" : "with";
        }
    }
}
