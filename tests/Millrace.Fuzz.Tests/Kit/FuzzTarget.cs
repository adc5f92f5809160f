using System.Text;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>Something that takes bytes from strangers, and what must be true of it for any bytes whatever.</summary>
internal abstract class FuzzTarget
{
    /// <summary>What it is called in names of files, corpora and variables: <c>request-head</c>.</summary>
    public abstract string Name { get; }

    /// <summary>Beyond it inputs only cost time.</summary>
    public virtual int InputBytesMax => 1024;

    /// <summary>How many different outcomes a run must have seen at least: with fewer, agreement would say little.</summary>
    public virtual int OutcomesMin => 2;

    /// <summary>Words that a mutation puts in: what means something here.</summary>
    public abstract IReadOnlyList<string> Words { get; }

    /// <summary>A new input, near to what is valid.</summary>
    public abstract byte[] Generate(Random random);

    /// <summary>
    /// Checks everything that must be true of an input, by nothing but its bytes; throws for what is not. The bytes border on pages
    /// that end the process when they are touched. Gives the outcome in a few words: a new one makes an input worth mutating.
    /// </summary>
    public abstract string Check(ReadOnlySpan<byte> input);

    /// <summary>What both say is the same.</summary>
    protected static void Agree(string expected, string actual, string of)
    {
        if (expected != actual)
        {
            throw new DisagreementException($"{of}: the model says <{expected}>, not <{actual}>");
        }
    }

    protected static void Require(bool holds, string otherwise)
    {
        if (!holds)
        {
            throw new DisagreementException(otherwise);
        }
    }

    protected static byte[] Utf8(string text) => Encoding.UTF8.GetBytes(text);
}

/// <summary>Something that must be true is not.</summary>
internal sealed class DisagreementException(string message) : Exception(message);
