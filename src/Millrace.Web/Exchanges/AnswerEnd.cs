namespace Millrace.Web.Exchanges;

/// <summary>How the writing of an answer ended.</summary>
internal enum AnswerEnd
{
    /// <summary>With its last byte.</summary>
    Whole,

    /// <summary>Before: nobody takes it any more, or its file is not what was promised.</summary>
    Cut,
}
