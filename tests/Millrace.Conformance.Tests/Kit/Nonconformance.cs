namespace Millrace.Conformance.Tests.Kit;

/// <summary>A server that did something else. The message says what was seen, in the few words of a table's cell.</summary>
internal sealed class Nonconformance(string seen) : Exception(seen);

/// <summary>The server said nothing in time, which no further case of the same test needs to find out again.</summary>
internal sealed class Silence(string seen) : Exception(seen);
