namespace Millrace.StaticFiles.Rules;

/// <summary>When a rule is asked.</summary>
internal enum RulePhase
{
    /// <summary>Before a file is looked for: forced rules ("301!").</summary>
    BeforeFiles,

    /// <summary>After no file was found: all others.</summary>
    AfterFiles,
}
