namespace Millrace.Engine.Tests.Unit;

/// <summary>What is tried where memory to lock is short: the same a few times, then less and less, and never what would be refused.</summary>
public class RingSizesTests
{
    [Fact]
    public void The_same_is_tried_again_before_anything_smaller()
    {
        var asked = new EngineOptions();
        (EngineOptions Options, int PauseMs)[] attempts = [.. RingSizes.Attempts(asked)];

        Assert.Equal([0, 5, 20, 75], attempts.TakeWhile(attempt => attempt.Options == asked).Select(static attempt => attempt.PauseMs));
        Assert.Equal([512, 512, 512, 512, 256, 128, 64, 32], attempts.Take(8).Select(static attempt => attempt.Options.SubmissionEntries));
        Assert.Equal((32, 256, 64), Sizes(attempts[^1].Options));
    }

    /// <summary>What the attempt before had is given back when the kernel comes to it: seen to take more than half a second.</summary>
    [Fact]
    public void The_least_is_waited_for_longer_and_longer_but_not_for_ever()
    {
        (EngineOptions Options, int PauseMs)[] attempts = [.. RingSizes.Attempts(new EngineOptions())];
        EngineOptions least = attempts[^1].Options;
        int[] pausesMs = [.. attempts.SkipWhile(attempt => attempt.Options != least).Skip(1).Select(static attempt => attempt.PauseMs)];

        Assert.Equal(pausesMs.Order(), pausesMs);
        Assert.InRange(pausesMs.Sum(), 1_000, 2_000);
        Assert.InRange(attempts.Sum(static attempt => attempt.PauseMs), 1_000, 2_000);
    }

    [Theory]
    [InlineData(1, 2, 1)]
    [InlineData(500, 512, 2)]
    [InlineData(16, 4_096, 1_024)]
    [InlineData(32_768, 65_536, 32_768)]
    [InlineData(4_096, 5_000, 128)]
    public void Every_attempt_is_one_that_the_kernel_takes_and_none_is_larger(int submissions, int completions, int buffers)
    {
        var asked = new EngineOptions { SubmissionEntries = submissions, CompletionEntries = completions, ReceiveBuffers = buffers };
        (int, int, int) before = Sizes(asked);
        foreach ((EngineOptions options, _) in RingSizes.Attempts(asked))
        {
            options.Validate();
            (int, int, int) sizes = Sizes(options);
            Assert.True(sizes.Item1 <= before.Item1 && sizes.Item2 <= before.Item2 && sizes.Item3 <= before.Item3);
            before = sizes;
        }

        Assert.Equal(Math.Min(submissions, 32), before.Item1);
    }

    private static (int, int, int) Sizes(EngineOptions options) =>
        (options.SubmissionEntries, options.CompletionEntries, options.ReceiveBuffers);
}
