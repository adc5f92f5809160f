using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests;

/// <summary>Known inputs: all of the corpus, or the one file that MILLRACE_FUZZ_INPUT and MILLRACE_FUZZ_TARGET name.</summary>
public class ReplayTests
{
    private static readonly GuardedMemory Memory = new(64 * 1024);

    [Fact]
    public void Known_inputs_are_read_as_the_model_reads_them()
    {
        if (FuzzSettings.Input is string path)
        {
            Check(FuzzTargets.Find(FuzzSettings.Target!), KeptInput.Read(path));
            return;
        }

        foreach (FuzzTarget target in FuzzTargets.All)
        {
            byte[][] corpus = Corpus.Of(target);
            Assert.True(corpus.Length >= 8, $"{target.Name} has {corpus.Length} known inputs");
            Assert.All(corpus, input => Check(target, input));
        }
    }

    [Fact]
    public void A_corpus_belongs_to_a_target() => Assert.Equal(
        FuzzTargets.All.Select(target => target.Name).Order(StringComparer.Ordinal),
        Directory.GetFiles(Path.GetDirectoryName(Corpus.PathOf(""))!).Select(Path.GetFileNameWithoutExtension).Order(StringComparer.Ordinal));

    private static void Check(FuzzTarget target, byte[] input)
    {
        target.Check(Memory.Copy(input));
        target.Check(Memory.Copy(input, Placement.AtStart));
    }
}
