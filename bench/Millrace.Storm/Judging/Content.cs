using Millrace.Storm.Site;

namespace Millrace.Storm.Judging;

/// <summary>
/// What a client has after a whole answer. No edition: the file was written in place meanwhile, and it has something of both,
/// which nothing may ever confirm or complete.
/// </summary>
internal sealed record Content(string Coding, Edition? Edition, long Bytes);
