using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// What a test proves: the document's section, the sentence, and the group of related behaviours it belongs to. The test is run
/// once for every front, and docs/http-conformance.md has a row for it.
/// </summary>
/// <param name="section">A section of an RFC, or <see cref="Choice"/> where the documents leave it to the server.</param>
/// <param name="group">1-28: files and cache, paths, conditions and ranges, messages.</param>
/// <param name="sentence">What a client may rely on.</param>
[AttributeUsage(AttributeTargets.Method)]
public sealed class BehaviourAttribute(string section, int group, string sentence) : DataAttribute, ITraitAttribute
{
    public const string Choice = "our choice";

    public string Section => section;

    public int Group => group;

    public string Sentence => sentence;

    /// <summary>
    /// Why it is not the middleware's: what Kestrel itself answers, in a way of its own, and is then not asked (in a run about Kestrel
    /// alone the test is skipped and says so). Null for all else.
    /// </summary>
    public string? NotOnKestrel { get; set; }

    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker)
    {
        // How messages of HTTP/1.1 are written is not asked in HTTP/2 and HTTP/3, whose own tests are the server's.
        bool isOfHttp1 = testMethod.DeclaringType!.Namespace!.EndsWith(".Messages", StringComparison.Ordinal);
        string[] asked =
        [
            .. Fronts.All.Where(front =>
                (NotOnKestrel is null || Fronts.BackendOf(front) != Fronts.Kestrel) && (!isOfHttp1 || !Fronts.HasStreams(front))),
        ];
        return asked.Length > 0
            ? new([.. asked.Select(static front => new TheoryDataRow<Site>(new Site(front)))])
            : new([new TheoryDataRow<Site>(new Site(Fronts.Kestrel)).WithSkip(NotOnKestrel!)]);
    }

    public override bool SupportsDiscoveryEnumeration() => true;

    public IReadOnlyCollection<KeyValuePair<string, string>> GetTraits() =>
    [
        new("Section", section),
        new("Group", group.ToString("00")),
        new("Sentence", sentence),
    ];
}
